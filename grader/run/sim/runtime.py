"""What `torch.cuda` and `torch.accelerator` answer on a machine with one GPU."""

# ruff: noqa: SLF001 - the simulation stands in for parts of PyTorch that have no public name
from __future__ import annotations

import contextlib
import gc
from collections import OrderedDict
from typing import Any, Final

import torch

from grader.run.sim import chance
from grader.run.sim.device import GPU, NAME, as_device, check_index, start
from grader.run.sim.place import on_cuda, storage_of
from grader.run.sim.streams import CURRENT, Event, Stream

MEMORY: Final = 16 * 2**30


class Properties:
    """`torch.cuda.get_device_properties(0)`."""

    name = NAME
    major, minor = 8, 0
    total_memory = MEMORY
    multi_processor_count = 1
    warp_size = 32
    max_threads_per_multi_processor = 2048
    regs_per_multiprocessor = 65536
    shared_memory_per_block = 49152
    L2_cache_size = 2**22
    is_integrated = is_multi_gpu_board = 0
    gcnArchName = ""  # noqa: N815 - PyTorch's own spelling
    uuid = "00000000-0000-0000-0000-000000000000"

    def __repr__(self) -> str:
        return f"_CudaDeviceProperties(name='{NAME}', major=8, minor=0, total_memory={MEMORY >> 20}MB, multi_processor_count=1)"


class _Peak:
    """The largest amount of memory that anybody has seen."""

    seen = 0


def _index_of(device: Any) -> int:
    return check_index(None if device is None else as_device(device).index)


def properties(device: Any = None) -> Properties:
    """The only device's properties; PyTorch asserts the index."""
    index = None if device is None else as_device(device).index
    if index not in (None, 0):
        raise AssertionError("Invalid device id")
    return Properties()


def allocated(device: Any = None) -> int:
    """Bytes of memory with our tag that a Python tensor still uses (what only the graph holds is not counted)."""
    _index_of(device)
    with torch._C.DisableTorchFunction():
        storages = {}
        for thing in gc.get_objects():
            if type(thing) in (torch.Tensor, torch.nn.Parameter) and on_cuda(thing):
                storage = storage_of(thing)
                if storage is not None:
                    storages[storage.data_ptr()] = storage.nbytes()
    total = sum(storages.values())
    _Peak.seen = max(_Peak.seen, total)
    return total


def peak(device: Any = None) -> int:
    """The largest amount seen so far."""
    return max(allocated(device), _Peak.seen)


def reset_peak(device: Any = None) -> None:
    """Forget the largest amount."""
    _Peak.seen = 0
    _index_of(device)


def nothing(*_: Any, **__: Any) -> None:
    """Do what has no counterpart here."""


def exchange(device: Any) -> int:
    """Select a device; the one selected before."""
    check_index(device)
    return 0


def current() -> int:
    """`current_device`."""
    start()
    return 0


def select(device: Any) -> None:
    """`set_device`."""
    _index_of(device)


def set_generator(state: torch.Tensor, device: Any = "cuda") -> None:
    """`set_rng_state`."""
    _index_of(device)
    chance.generator().set_state(state)


def set_generators(states: Any) -> None:
    """`set_rng_state_all`."""
    chance.generator().set_state(states[0])


def seed_anew() -> None:
    """`torch.cuda.seed`."""
    chance.generator().seed()


def rng_state(device: Any = "cuda") -> torch.Tensor:
    """`get_rng_state`: on the host, as PyTorch returns it."""
    _index_of(device)
    return chance.generator().get_state()


def accelerator(check_available: bool = False) -> torch.device:  # noqa: FBT001, FBT002 - PyTorch's own signature
    """`torch.accelerator.current_accelerator`."""
    del check_available
    return torch.device("cuda")


def cuda_module() -> dict[str, Any]:
    """Stand-ins for functions and classes of torch.cuda, by name."""
    memory = dict.fromkeys(("memory_allocated", "memory_reserved", "memory_cached"), allocated)
    peaks = dict.fromkeys(("max_memory_allocated", "max_memory_reserved", "max_memory_cached"), peak)
    resets = dict.fromkeys(
        ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_accumulated_memory_stats"), reset_peak
    )
    silent = dict.fromkeys(
        ("synchronize", "empty_cache", "ipc_collect", "init", "set_stream", "set_per_process_memory_fraction", "set_sync_debug_mode"), nothing
    )
    return {
        **memory, **peaks, **resets, **silent,
        "is_available": lambda: True, "is_initialized": lambda: True, "_initialized": True, "_lazy_init": start, "_is_compiled": lambda: True,
        "device_count": lambda: 1, "_device_count_nvml": lambda: 1, "current_device": current, "set_device": select,
        "_exchange_device": exchange, "_maybe_exchange_device": exchange, "get_device_name": lambda device=None: properties(device).name,
        "get_device_capability": lambda device=None: (properties(device).major, properties(device).minor), "get_device_properties": properties,
        "get_arch_list": lambda: ["sm_80"], "is_bf16_supported": lambda *_, **__: True, "is_tf32_supported": lambda: True,
        "can_device_access_peer": lambda *_: False, "mem_get_info": lambda device=None: (MEMORY - allocated(device), MEMORY),
        "memory_stats": lambda device=None: OrderedDict({"allocated_bytes.all.current": allocated(device), "allocated_bytes.all.peak": peak(device)}),
        "memory_summary": lambda device=None, abbreviated=False: f"{NAME}: {allocated(device)} bytes allocated",  # noqa: ARG005 - PyTorch's own
        "memory_snapshot": lambda *_, **__: [], "utilization": lambda device=None: 0 * _index_of(device), "get_sync_debug_mode": lambda: 0,
        "manual_seed": chance.seed, "manual_seed_all": chance.seed, "seed": seed_anew, "seed_all": seed_anew,
        "initial_seed": lambda: chance.generator().initial_seed(), "get_rng_state": rng_state, "get_rng_state_all": lambda: [rng_state()],
        "set_rng_state": set_generator, "set_rng_state_all": set_generators, "Stream": Stream, "Event": Event, "ExternalStream": Stream,
        "current_stream": lambda device=None: CURRENT, "default_stream": lambda device=None: CURRENT,  # noqa: ARG005 - PyTorch's own signature
        "stream": contextlib.nullcontext, "is_current_stream_capturing": lambda: False,
    }  # fmt: skip


def accelerator_module() -> dict[str, Any]:
    """Stand-ins for functions of torch.accelerator, by name."""
    index = dict.fromkeys(("current_device_index", "current_device_idx"), lambda: 0)
    selects = dict.fromkeys(("set_device_index", "set_device_idx"), select)
    shared = ("synchronize", "empty_cache", "set_stream", "current_stream", "memory_allocated", "memory_reserved", "max_memory_allocated",
              "max_memory_reserved", "memory_stats", "reset_peak_memory_stats", "reset_accumulated_memory_stats", "device_count", "is_available",
              "get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all", "manual_seed", "manual_seed_all",
              "initial_seed")  # fmt: skip
    cuda = cuda_module()
    return {
        **index, **selects, **{name: cuda[name] for name in shared}, "current_accelerator": accelerator, "get_memory_info": cuda["mem_get_info"],
        "device_index": lambda device: contextlib.nullcontext(_index_of(device)), "empty_host_cache": nothing,
    }  # fmt: skip


__all__ = ["GPU", "Event", "Stream", "accelerator_module", "cuda_module"]
