"""The child process: run one submission under the recorder, question the model it returns, and write everything down.

Started by the parent as `python -c "from grader.run.child import main; main()"` with a job on standard input. Standard output is the evidence
stream; what the submission prints goes to standard error. The child judges nothing and knows no lesson.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.evidence.files import files_in
from grader.run.contract import BrokenContractError, bound_main, examine
from grader.run.crashes import described
from grader.run.fence import fence
from grader.run.walls import audit_reaching, limit_resources
from grader.run.wire import open_wire

if TYPE_CHECKING:
    from collections.abc import Callable

MODULE = "train"


def main() -> None:
    """Read the job, run it, end the process without running anything of the submission's that waits for the end."""
    job = json.loads(sys.stdin.buffer.readline())
    channel = os.dup(1)
    os.dup2(2, 1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    emit = open_wire(channel, bytes.fromhex(job.pop("key")))
    try:
        _run(job, emit)
    except SystemExit as stop:
        code = stop.code if type(stop.code) in (int, str, type(None)) else type(stop.code).__name__
        emit("exited", code=repr(code)[:80], during=job["stage"])
    emit("end")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


def _run(job: dict[str, Any], emit: Callable[..., None]) -> None:
    job["stage"] = "start"
    import numpy as np
    import torch
    import torchvision

    torch.set_num_threads(1)

    wants = job["device"]
    real = wants != "sim" and torch.cuda.is_available()
    device = "cpu" if wants == "cpu" or (wants == "auto" and not real) else "cuda"
    simulated = device == "cuda" and not real
    if wants == "cuda" and not real:
        emit("unavailable", what="cuda")
        return
    context: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if simulated:
        from grader.run.simcuda import simulated_cuda

        context = simulated_cuda()
    limit_resources(job, gpu=real)
    emit("hello", torch=torch.__version__, torchvision=torchvision.__version__, python=sys.version.split()[0], device=device, simulated=simulated)
    images = np.load(job["images"], allow_pickle=False)
    emit("fence", up=fence(Path(job["folder"]), [Path(p) for p in job["hidden"]]))
    random.seed(job["seed"])
    np.random.seed(job["seed"])  # noqa: NPY002 - the submission may use numpy's global generator
    torch.manual_seed(job["seed"])
    with context:
        _observe(job, device, emit, images)


def _observe(job: dict[str, Any], device: str, emit: Callable[..., None], images: Any) -> None:
    """Run the submission under the recorder, then question the model that it returns."""
    from torch.utils.tensorboard import SummaryWriter

    from grader.run.probes.session import question
    from grader.run.recorder import Recorder
    from grader.run.snapshot import Snapshot
    from grader.run.wraps import Attached

    recorder = Recorder(
        emit, job["file"], job.pop("salt"), width=1 if job["contract"]["positive"] is not None else 10, samples="samples" in job["records"]
    )
    attached = Attached(recorder)
    attached.watch_writers(SummaryWriter, *_other_writers(job["source"]))
    for name in [n for n in sys.modules if n.split(".")[0] == "grader"]:
        del sys.modules[name]
    audit_reaching(job["file"], emit)
    snapshot = Snapshot()
    try:
        module = _load(job, emit)
        model = None if module is None else _call_main(module, job, device, emit)
    finally:
        recorder.close()
    disturbed = attached.disturbed() or snapshot.changed()
    emit("writers", made=attached.written, open=attached.open_writers(), events=_event_bytes(Path(job["log_dir"])))
    if disturbed:
        emit("disturbed", what=disturbed)
        return
    attached.detach()
    if model is None or module is None:
        return
    job["stage"] = "probes"
    try:
        question(model, module, recorder, emit, {**job, "device": device}, images)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the returned model is the submission's code
        _crash(error, "probes", job, emit)


def _other_writers(source: str) -> list[Any]:
    """TensorboardX writers, where the submission mentions them (its import is not free)."""
    if "tensorboardX" not in source:
        return []
    try:
        import tensorboardX
    except ImportError:
        return []
    return [tensorboardX.SummaryWriter]


def _event_bytes(folder: Path) -> dict[str, int]:
    """Sizes of the event files at this moment: what is on disk when main returns."""
    return {str(p.relative_to(folder)): info.st_size for p, info in files_in(folder) if "tfevents" in p.name}


def _load(job: dict[str, Any], emit: Callable[..., None]) -> types.ModuleType | None:
    """Import the submission under a fixed name, so that DataLoader workers can find it."""
    job["stage"] = "import"
    emit("stage", name="import")
    module = types.ModuleType(MODULE)
    module.__file__ = job["file"]
    sys.modules[MODULE] = module
    sys.path.insert(0, str(Path(job["file"]).parent))
    sys.argv = [job["file"]]
    try:
        code = compile(job["source"], job["file"], "exec")
        exec(code, module.__dict__)  # noqa: S102 - running the submission is what this process is for
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a submission raises is its result
        _crash(error, "import", job, emit)
        return None
    return module


def _call_main(module: types.ModuleType, job: dict[str, Any], device: str, emit: Callable[..., None]) -> Any:
    """Call main with the arguments of the contract; None after a crash or a broken contract (both are written down)."""
    job["stage"] = "main"
    emit("stage", name="main")
    values = {"data_dir": job["data_dir"], "log_dir": job["log_dir"], "device": device, "epochs": job["epochs"]}
    try:
        entry = bound_main(module, values, job["file"])
        try:
            model = entry()
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a submission raises is its result
            _crash(error, "main", job, emit)
            return None
        examine(module, model, job["contract"]["offers"])
    except BrokenContractError as broken:
        emit("contract", what=broken.what, expected=broken.expected, line=broken.line)
        return None
    return model


def _crash(error: BaseException, during: str, job: dict[str, Any], emit: Callable[..., None]) -> None:
    record = described(error, job["file"])
    message = record["message"]
    memory = isinstance(error, MemoryError) or "allocate memory" in message or "out of memory" in message.lower()
    disk = isinstance(error, OSError) and error.errno in (28, 27, 122)
    emit("crash", **record, during=during, memory=memory, disk=disk)
