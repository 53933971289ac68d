"""The simulated GPU: what a real one does it does, and what a real one refuses it refuses.

The tables run on a real GPU too where there is one, so that they are checked against the thing itself.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import pickle
import subprocess
import sys
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from grader.run.sim import place
from grader.run.simcuda import GPU, is_simulated, simulated_cuda

ROOT = Path(__file__).resolve().parents[2]
MACHINES = [
    "simulated",
    pytest.param("real", marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and there is none")]),
]
FORK_WARNS = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def gpu():
    """The simulated GPU, for the length of a test."""
    with simulated_cuda():
        yield


@pytest.fixture(params=MACHINES)
def machine(request):
    """A simulated GPU, and a real one where there is one."""
    with simulated_cuda() if request.param == "simulated" else contextlib.nullcontext():
        yield request.param


def run(code):
    """Run statements separated by "; "; the value of the last one. x, c, j, z, m are on the GPU, h, s, i, y, k on the host."""
    torch.manual_seed(0)
    space = {"torch": torch, "nn": nn, "F": F, "np": np, "copy": copy}
    space |= {"h": torch.randn(4, 3), "s": torch.tensor(2.0), "i": torch.tensor([0, 2]), "y": torch.tensor([0, 1, 2, 0]), "k": nn.Linear(3, 2)}
    space |= {"x": space["h"].cuda(), "c": space["s"].cuda(), "j": space["i"].cuda(), "z": space["y"].cuda(), "m": copy.deepcopy(space["k"]).cuda()}
    *statements, expression = code.split("; ")
    for statement in statements:
        exec(statement, space)
    return eval(expression, space)


def places(value):
    """The devices of the tensors in a value, once each, in order."""
    if isinstance(value, torch.Tensor):
        return str(value.device)
    return " ".join(dict.fromkeys(places(item) for item in value))


ON_CUDA = """
x.to("cuda") | x.to(0) | h.to("cuda") | h.to("cuda:0") | h.to(torch.device("cuda")) | h.to(0) | h.to(device="cuda") | h.to(device=0)
h.to("cuda", torch.float64) | h.to("cuda", dtype=torch.half) | h.to("cuda", non_blocking=True) | h.to("cuda", torch.half, True, True) | h.to(x)
h.to(x, non_blocking=True) | h.to(device="cuda", dtype=torch.int64, copy=True) | h.to("cuda", memory_format=torch.contiguous_format)
h.cuda() | h.cuda(0) | h.cuda("cuda:0") | h.cuda(non_blocking=True) | h.cuda(device="cuda") | h.cuda(torch.device("cuda", 0))
x.double() | x.half() | x.long() | x.to(torch.float64) | x.type(torch.float64) | h.type_as(x) | h.type("torch.cuda.DoubleTensor")
h.type(torch.cuda.FloatTensor) | torch.cuda.FloatTensor([1.0]) | torch.cuda.LongTensor(2)
x.detach() | x.data | x.T | x.clone() | x[0] | x[:, 1:] | x[x > 0] | x[i] | x[j] | x[h > 0] | x[0, 0] | x.view(-1) | x.reshape(2, 6) | x.view_as(h)
x.expand_as(h) | x.sum() | x.max(1) | x.topk(2) | x.split(2) | x.chunk(2) | list(x) | x.unbind() | torch.unique(x, return_counts=True) | x.sort() | x > 0
x == c | ~(x > 0) | -x | x + 1 | 1 - x | 2 / x | x**2 | x @ x.T | x.T @ x | torch.stack([x, x]) | torch.cat([x, x]) | torch.where(x > 0, x, 0.0)
torch.einsum("ij,kj->ik", x, x) | torch.linalg.svd(x) | torch.meshgrid(x[0], x[1], indexing="ij") | torch.nonzero(x) | torch.bmm(x[None], x.T[None])
F.one_hot(z) | F.softmax(x, 1) | F.dropout(x) | F.pad(x, (1, 1)) | F.embedding(z, x) | F.cross_entropy(x, z) | F.mse_loss(x, x) | m(x) | nn.LayerNorm(3).cuda()(x)
x + s | s + x | x * s | s * c | c + s | x > s | torch.where(x > 0, x, s) | x.add_(s) | torch.add(x, s, out=x) | torch.maximum(x, s) | x.clamp(min=s)
x.masked_fill(x > 0, 0.0) | x.masked_fill(x > 0, s) | x.copy_(h) | x.fill_(s) | x.index_put((i,), s)
torch.zeros(2, device="cuda") | torch.ones(2, device=0) | torch.empty(2, device=GPU) | torch.tensor([1], device="cuda") | torch.full((2,), 1.0, device="cuda")
torch.arange(3, device="cuda") | torch.eye(2, device="cuda") | torch.linspace(0, 1, 3, device="cuda") | torch.randint(3, (2,), device="cuda")
torch.rand(2, device="cuda") | torch.randn(2, device="cuda") | torch.randperm(4, device="cuda") | torch.as_tensor([1], device="cuda") | torch.as_tensor(x)
torch.as_tensor(h, device="cuda") | torch.asarray(h, device="cuda") | torch.from_numpy(np.ones(2)).to("cuda") | torch.tril_indices(2, 2, device="cuda")
torch.zeros_like(x) | torch.randn_like(x) | torch.full_like(x, 1) | torch.ones_like(h, device="cuda") | torch.rand_like(h, device="cuda") | x.new_zeros(2)
x.new_tensor([1.0]) | h.new_ones(2, device="cuda") | x.new_full((2,), 1) | x.new_empty(2) | torch.scalar_tensor(1.0, device="cuda")
torch.sparse_coo_tensor([[0]], [1.0], (2,), device="cuda", check_invariants=False).to_dense() | nn.Linear(2, 2, device="cuda").weight
copy.deepcopy(x) | copy.copy(x) | copy.deepcopy(m).weight | m.weight.data | nn.Parameter(x) | torch.broadcast_tensors(x, c) | torch.func.grad(lambda w: (w**2).sum())(x)
torch.func.vmap(lambda row: row.sum())(x) | torch.func.functional_call(m, dict(m.named_parameters()), (x,)) | k.cuda().weight | k.to(0).bias
k.to("cuda", torch.float64).weight | k.to(x).weight | m.double().weight | nn.BatchNorm1d(3).cuda().running_mean | nn.BatchNorm1d(3).cuda()(x)
nn.utils.parameters_to_vector(m.parameters()) | torch.ops.aten.add(x, x) | x.numpy(force=True).shape and x | [x.share_memory_(), x] | x.contiguous(memory_format=torch.contiguous_format)
"""
ON_HOST = """
x.cpu() | x.to("cpu") | x.to(device="cpu") | x.to(torch.device("cpu"), torch.float64) | x.to(h) | x.type(torch.FloatTensor) | x.type("torch.LongTensor") | x.type_as(h)
h.to("cpu") | h[c.long()] | h[c.long(), 0] | h + s | h.view_as(x) | h.expand_as(x) | h.reshape(x.shape) | h.copy_(x) | s.copy_(c) | s.fill_(c) | m.cpu().weight
torch.tensor([x[0, 0], x[1, 1]]) | torch.full((2,), c) | torch.zeros(2) | torch.zeros(2, device="cpu") | torch.zeros_like(x, device="cpu") | x.new_zeros(2, device="cpu")
torch.as_tensor(x, device="cpu") | torch.from_numpy(np.ones(2)) | h.new_zeros(2) | copy.deepcopy(h) | torch.rand(2) | torch.randperm(3) | x.sum().cpu() | k(h)
torch.broadcast_tensors(x, s)[1] | torch.tensor(x.tolist()) | torch.tensor(c.item())
"""
REFUSED = {
    "h + x": "found at least two devices, cuda:0 and cpu!",
    "x + h": "found at least two devices, cuda:0 and cpu!",
    "h * c": "found at least two devices, cuda:0 and cpu!",
    "x == h": "found at least two devices",
    "h.add_(c)": "found at least two devices",
    "s.add_(c)": "found at least two devices",
    "s.__iadd__(c)": "found at least two devices",
    "x - torch.tensor([0.1307])": "found at least two devices",
    "torch.add(x, x, out=h)": "found at least two devices",
    "torch.add(h, h, out=x)": "found at least two devices",
    "torch.where(x > 0, x, h)": "found at least two devices",
    "torch.allclose(x, h)": "found at least two devices",
    "torch.ops.aten.add(x, h)": "found at least two devices",
    "F.mse_loss(x, h)": "found at least two devices",
    "F.l1_loss(m(x), h[:, :2])": "found at least two devices",
    "F.binary_cross_entropy_with_logits(x, h)": "found at least two devices",
    "F.cross_entropy(x, h.softmax(1))": "found at least two devices",
    "x.__setitem__(i, h[:2])": "found at least two devices",
    "x.index_put_((i,), h[:2])": "found at least two devices",
    "h.__setitem__(h > 0, x[x > 0])": "found at least two devices",
    "torch.equal(x, h)": "Expected all tensors to be on the same device",
    "m(h)": "mat1.*wrapper_CUDA_addmm",
    "k(x)": "mat1.*wrapper_CUDA_addmm",
    "F.linear(x, k.weight)": "mat2.*wrapper_CUDA_mm",
    "F.embedding(input=i, weight=x)": "index",
    "torch.dot(x[0], tensor=h[0])": "Expected all tensors",
    "x @ h.T": "mat2.*wrapper_CUDA_mm",
    "h @ x.T": "mat2.*wrapper_CUDA_mm",
    "torch.bmm(x[None], h.T[None])": "mat2.*wrapper_CUDA_bmm",
    "torch.einsum('ij,kj->ik', x, h)": "Expected all tensors to be on the same device",
    "torch.cat([x, h])": "tensors.*wrapper_CUDA_cat",
    "torch.stack([h, x])": "tensors.*wrapper_CUDA_cat",
    "torch.stack([c, s])": "tensors.*wrapper_CUDA_cat",
    "F.cross_entropy(x, y)": "target.*wrapper_CUDA_nll_loss_forward",
    "F.cross_entropy(h, z)": "target.*wrapper_CUDA_nll_loss_forward",
    "nn.CrossEntropyLoss(weight=torch.ones(3))(x, z)": "weight.*wrapper_CUDA_nll_loss_forward",
    "F.nll_loss(x.log_softmax(1), y)": "target.*wrapper_CUDA_nll_loss_forward",
    "F.binary_cross_entropy(x.sigmoid(), h.sigmoid())": "Expected all tensors to be on the same device",
    "F.embedding(i, x)": "index.*wrapper_CUDA__index_select",
    "F.embedding(j, h)": "index.*wrapper_CUDA__index_select",
    "F.layer_norm(x, (3,), torch.ones(3))": "weight.*wrapper_CUDA__native_layer_norm",
    "F.batch_norm(x, torch.zeros(3), torch.ones(3))": "running_mean.*batch_norm",
    "nn.BatchNorm1d(3).cuda()(h)": "batch_norm",
    "x.gather(1, y[:, None])": "index.*wrapper_CUDA_gather",
    "x.index_select(0, i)": "index.*wrapper_CUDA__index_select",
    "x.masked_fill(h > 0, 0.0)": "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    "nn.Conv2d(1, 2, 3).cuda()(torch.randn(1, 1, 8, 8))": r"Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\) should be the same",
    "nn.Conv2d(1, 2, 3)(torch.randn(1, 1, 8, 8).cuda())": r"Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\) should be the same$",
    "F.conv2d(torch.ones(1, 1, 3, 3).cuda(), torch.ones(2, 1, 3, 3).cuda(), torch.ones(2))": "and bias type .torch.FloatTensor. should be the same",
    "nn.GRU(3, 2).cuda()(h)": "not at the same device, found input tensor at cpu and parameter tensor at cuda:0",
    "nn.LSTM(3, 2).cuda()(x, (torch.zeros(1, 2), torch.zeros(1, 2)))": "found input tensor at cuda:0 and hidden tensor at cpu",
    "h[j]": r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)",
    "h[x > 0]": "indices should be either on cpu",
    "h[:, j]": "indices should be either on cpu",
    "torch.eye(3)[z]": "indices should be either on cpu",
    "h.__setitem__(j, 0.0)": "indices should be either on cpu",
    "setattr(m.weight, 'grad', torch.zeros(2, 3))": "gradient",
    "m(x).backward(torch.ones(4, 2))": "device",
    "(x.requires_grad_() * 2).sum().backward() or x.register_hook(lambda g: g.cpu()) and (x * 2).sum().backward()": "changed the type of value",
    "torch.randperm(4, generator=torch.Generator(device='cuda'))": "Expected a 'cpu' device type for generator but found 'cuda'",
    "torch.randn(4, device='cuda', generator=torch.Generator())": "Expected a 'cuda' device type for generator but found 'cpu'",
    "x.normal_(generator=torch.Generator())": "Expected a 'cuda' device type for generator but found 'cpu'",
    "x.pin_memory()": "cannot pin",
    "nn.utils.rnn.pack_padded_sequence(x[None], torch.tensor([4]).cuda(), batch_first=True)": "lengths. argument should be a 1D CPU int64 tensor",
    "h.to(f'cuda:{torch.cuda.device_count()}')": "CUDA error: invalid device ordinal",
    "h.cuda(torch.cuda.device_count())": "CUDA error: invalid device ordinal",
    "k.to(f'cuda:{torch.cuda.device_count()}')": "CUDA error: invalid device ordinal",
    "torch.zeros(2, device=f'cuda:{torch.cuda.device_count()}')": "CUDA error: invalid device ordinal",
    "torch.cuda.set_device(torch.cuda.device_count())": "CUDA error: invalid device ordinal",
}
NO_NUMPY = [
    "x.numpy()",
    "x.detach().numpy()",
    "np.asarray(x)",
    "np.array(x)",
    "np.array([x[0, 0], x[0, 1]])",
    "list(map(np.asarray, x))",
    "m.weight.numpy()",
    "c.numpy()",
]


def pieces(table):
    return [piece.strip().replace("GPU", "torch.device('cuda', 0)") for line in table.strip().splitlines() for piece in line.split(" | ")]


@pytest.mark.parametrize("code", pieces(ON_CUDA))
def test_its_result_is_on_the_gpu(machine, code):
    assert "cuda:0" == places(run(code))


@pytest.mark.parametrize("code", pieces(ON_HOST))
def test_its_result_is_on_the_host(machine, code):
    assert "cpu" == places(run(code))


@pytest.mark.parametrize(("code", "words"), REFUSED.items(), ids=REFUSED)
def test_it_is_refused_in_pytorch_s_words(machine, code, words):
    with pytest.raises(RuntimeError, match=words):
        run(code)


@pytest.mark.parametrize("code", NO_NUMPY)
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")
def test_numpy_gets_no_gpu_memory(machine, code):
    words = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\\(\\) to copy the tensor to host memory first."
    with pytest.raises(TypeError, match=words):
        run(code)


@pytest.mark.parametrize("code", ["h", "s", "y", "k.weight"])
def test_a_refused_mixture_leaves_host_tensors_on_the_host(gpu, code):
    tensor = run(code)
    with contextlib.suppress(RuntimeError):
        tensor + torch.ones(7, device="cuda")
    tensor.fill_(torch.tensor(1, device="cuda")) if not tensor.requires_grad else None
    assert not is_simulated(tensor)


def test_numbers_leave_the_gpu(machine):
    assert [2.0, 2, True, [2.0]] == [run("c.item()"), run("int(c)"), run("bool(c)"), run("c[None].tolist()")]
    assert 30 == run("[10, 20, 30][c.long()]")
    assert "tensor(2., device='cuda:0')" == run("repr(c)")
    assert "device='cuda:0'" in run("f'{x}'")
    assert "2.0" == run("f'{c:.1f}'")


def test_a_tensor_answers_where_it_is(machine):
    x, h = run("x"), run("h")
    assert (GPU, True, False, 0, "torch.cuda.FloatTensor") == (x.device, x.is_cuda, x.is_cpu, x.get_device(), x.type())
    assert ("cpu", False, True, -1, "torch.FloatTensor") == (h.device.type, h.is_cuda, h.is_cpu, h.get_device(), h.type())
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(h, torch.cuda.FloatTensor)
    assert not isinstance(x.double(), torch.cuda.FloatTensor)


def test_a_copy_is_made_only_where_needed(machine):
    h = torch.ones(3)
    x = h.to("cuda")
    assert x.to("cuda") is x.cuda() is x.to(0) is torch.as_tensor(x) is x
    assert x.to("cuda", copy=True) is not x
    x.zero_()
    x.cpu().fill_(5)
    array = np.ones(3, dtype=np.float32)
    torch.as_tensor(array, device="cuda").zero_()
    assert [3.0, 3.0, 0.0] == [float(h.sum()), float(array.sum()), float(x.sum())]


def test_writing_across_devices_is_a_copy(machine):
    x, h = run("x"), run("h")
    x[0] = torch.zeros(3)
    x[1] = h[1]
    h[0] = x[0]
    x[x > 0] = 0.0
    x[torch.tensor([2])] = torch.tensor(3.0)
    assert ["cuda:0", "cpu", 9.0, 0.0] == [str(x.device), str(h.device), float(x[2].sum()), float(h[0].sum())]


# --- gradients ---------------------------------------------------------------------------------------------------


def test_gradients_are_where_their_tensors_are(machine):
    seen = []
    w = torch.randn(3, device="cuda", requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    w.register_hook(lambda g: seen.append(("hook", str(g.device))))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(("after", str(p.grad.device))))
    inner = w * b.cuda()
    inner.retain_grad()
    loss = inner.sum().cpu() * torch.ones(1)
    loss.backward()
    assert [("hook", "cuda:0"), ("after", "cuda:0")] == seen
    assert "cuda:0 cpu cuda:0" == " ".join(map(places, (w.grad, b.grad, inner.grad)))
    (first,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    assert "cuda:0" == places([first, torch.autograd.grad(first.sum(), [w])])
    torch.autograd.backward([(w * 2)], [torch.ones(3, device="cuda")])
    (w * 2).sum().reshape(1).backward()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        assert "cuda:0" == places([g, *ctx.saved_tensors])
        return g * torch.full_like(ctx.saved_tensors[0], 2.0) * torch.ones(3, device="cuda")


def test_whoever_looks_into_a_backward_pass_sees_gpu_gradients(machine):
    seen = []
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)).cuda()
    net[0].register_full_backward_hook(lambda _, gi, go: seen.append(places([g for g in (*gi, *go) if g is not None])))
    net[2].register_full_backward_pre_hook(lambda _, go: seen.append(places(go)))
    out = Doubled.apply(net(torch.randn(4, 3, device="cuda", requires_grad=True)))
    assert "cuda:0" == places(out)
    (out * 1).sum().backward()
    node = (net(torch.randn(4, 3, device="cuda")) * 3).grad_fn
    assert node is not None
    w = torch.randn(3, device="cuda", requires_grad=True)
    z = w * 3
    z.grad_fn.register_hook(lambda gi, go: seen.append(places([g for g in (*gi, *go) if g is not None])))
    (z * 2).sum().backward()
    assert {"cuda:0"} == set(seen)
    assert 3 == len(seen)


def test_a_function_of_one_s_own_sees_gpu_gradients(machine):
    w = torch.ones(3, device="cuda", requires_grad=True)
    (Doubled.apply(w) * 3).sum().backward()
    assert ("cuda:0", [6.0, 6.0, 6.0]) == (places(w.grad), w.grad.tolist())


@pytest.mark.parametrize("reentrant", [True, False])
def test_activation_checkpointing(machine, reentrant):
    from torch.utils.checkpoint import checkpoint

    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 3)).cuda()
    checkpoint(net, torch.randn(2, 3, device="cuda", requires_grad=True), use_reentrant=reentrant).sum().backward()
    assert "cuda:0" == places([p.grad for p in net.parameters()])


def test_a_move_carries_gradients_back(machine):
    w = torch.ones(3, requires_grad=True)
    moved = w.cuda()
    assert not moved.is_leaf
    (moved * 3).sum().backward()
    assert [3.0, 3.0, 3.0] == w.grad.tolist()
    assert "cpu" == places(w.grad)


# --- modules and files -------------------------------------------------------------------------------------------


def test_moving_a_module_keeps_its_parameters(machine):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    net[0].weight.grad = torch.zeros(4, 3)
    before = list(net.parameters())
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    net.to("cuda")
    assert all(a is b for a, b in zip(before, net.parameters(), strict=True))
    assert all(isinstance(p, nn.Parameter) and p.is_leaf for p in net.parameters())
    assert "cuda:0" == places([*net.state_dict().values(), net[0].weight.grad])
    old = net[0].bias.detach().clone()
    net(torch.randn(5, 3, device="cuda")).sum().backward()
    optimiser.step()
    net(torch.randn(5, 3, device="cuda")).square().sum().backward()
    optimiser.step()
    assert not torch.equal(old, net[0].bias) or not torch.equal(before[1], old)
    net.cpu()
    assert "cpu" == places([*net.state_dict().values()])
    net(torch.randn(5, 3))


def test_data_may_be_assigned_across_devices(machine):
    p = nn.Parameter(torch.randn(2))
    p.grad = torch.zeros(2)
    p.data = p.data.cuda()
    assert ("cuda:0", "cpu") == (places(p), places(p.grad))
    p.grad = None
    p.data = p.data.cpu()
    assert "cpu" == places(p)


@pytest.mark.parametrize(
    ("saved", "how", "expected"),
    [
        ("cuda", {}, "cuda:0"),
        ("cuda", {"map_location": "cpu"}, "cpu"),
        ("cuda", {"map_location": torch.device("cpu")}, "cpu"),
        ("cuda", {"map_location": lambda storage, _: storage}, "cuda:0"),
        ("cuda", {"map_location": {"cuda:0": "cpu"}}, "cpu"),
        ("cpu", {}, "cpu"),
        ("cpu", {"map_location": "cuda"}, "cuda:0"),
        ("cpu", {"map_location": torch.device("cuda:0")}, "cuda:0"),
        ("cpu", {"map_location": lambda storage, _: storage.cuda()}, "cuda:0"),
    ],
)
def test_files_remember_the_device(gpu, saved, how, expected):
    if callable(how.get("map_location")) and saved == "cuda":
        expected = "cpu"  # a file is read into host memory; a function that leaves it there decides so
    file = io.BytesIO()
    torch.save(nn.Linear(2, 2).to(saved).state_dict(), file)
    file.seek(0)
    state = torch.load(file, **how)
    assert expected == places(state.values())
    for device in ("cpu", "cuda"):
        net = nn.Linear(2, 2).to(device)
        net.load_state_dict(state)
        assert device == net.weight.device.type
        net.load_state_dict(dict(state), assign=True)
        assert expected == places(net.weight)


def test_whole_modules_and_tensors_are_pickled_with_their_device(machine):
    file = io.BytesIO()
    torch.save(nn.Linear(2, 2).cuda(), file)
    file.seek(0)
    assert "cuda:0" == places(torch.load(file, weights_only=False).parameters())
    assert "cuda:0" == places(pickle.loads(pickle.dumps(torch.ones(2, device="cuda"))))


def test_a_gpu_file_does_not_load_where_there_is_no_gpu(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with simulated_cuda():
        torch.save(torch.ones(2, device="cuda"), tmp_path / "file.pt")
        with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on CUDA device 1 but torch\.cuda\.device_count\(\) is 1"):
            torch.load(tmp_path / "file.pt", map_location="cuda:1")
    with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False"):
        torch.load(tmp_path / "file.pt")


def test_meta_and_lazy_modules(machine):
    assert "cuda:0" == places(nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        nn.Linear(2, 2, device="meta").to("cuda")
    lazy = nn.LazyLinear(3).cuda()
    assert "cuda:0" == places([lazy(torch.randn(2, 5, device="cuda")), lazy.weight])


# --- training ----------------------------------------------------------------------------------------------------

OPTIMISERS = [
    *[
        (getattr(torch.optim, name), {})
        for name in ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta", "Adamax", "ASGD", "Rprop"]
    ],
    *[(kind, {flag: True}) for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW) for flag in ("foreach", "fused")],
    (torch.optim.Adam, {"foreach": False}),
    (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    (torch.optim.RMSprop, {"momentum": 0.9, "centered": True}),
]


@pytest.mark.parametrize(("kind", "options"), OPTIMISERS, ids=lambda v: v.__name__ if isinstance(v, type) else ",".join(v) or "defaults")
def test_optimisers(machine, kind, options):
    net = nn.Linear(3, 2).cuda()
    optimiser = kind(net.parameters(), lr=0.1, **options)
    for _ in range(2):
        before = net.weight.detach().clone()
        optimiser.zero_grad()
        net(torch.randn(4, 3, device="cuda")).square().sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        optimiser.step()
        assert not torch.equal(before, net.weight)
        optimiser.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    state = [v for values in optimiser.state.values() for v in values.values() if isinstance(v, torch.Tensor) and v.dim()]
    assert not state or "cuda:0" == places(state)


@pytest.mark.filterwarnings("ignore:This instance was constructed with capturable=True:UserWarning")
def test_capturable_optimisers_keep_their_step_count_on_the_gpu(machine):
    net = nn.Linear(3, 2).cuda()
    optimiser = torch.optim.Adam(net.parameters(), capturable=True)
    net(torch.randn(4, 3, device="cuda")).sum().backward()
    optimiser.step()
    assert "cuda:0" == places([values["step"] for values in optimiser.state.values()])


def test_a_model_in_two_parts_trains_with_one_optimiser(machine):
    first, second = nn.Linear(3, 2), nn.Linear(2, 2).cuda()
    optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()])
    second(first(torch.randn(2, 3)).cuda()).sum().backward()
    nn.utils.clip_grad_norm_([*second.parameters(), *first.parameters()], 1.0)
    optimiser.step()
    assert ("cpu", "cuda:0") == (places([p.grad for p in first.parameters()]), places([p.grad for p in second.parameters()]))


def test_parameters_left_on_the_host_are_refused_by_the_first_gpu_operation(machine):
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    net[0].cuda()
    with pytest.raises(RuntimeError, match="wrapper_CUDA_addmm"):
        net(torch.randn(2, 3, device="cuda"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_mixed_precision(machine, dtype):
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(676, 10)).cuda()
    optimiser = torch.optim.SGD(net.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
    assert scaler.is_enabled()
    images, labels = torch.randn(4, 1, 28, 28, device="cuda"), torch.randint(10, (4,), device="cuda")
    before = net[0].weight.detach().clone()
    with torch.autocast("cuda", dtype=dtype):
        scores = net(images)
        loss = F.cross_entropy(scores, labels)
        assert (dtype, torch.float32, dtype) == (scores.dtype, loss.dtype, (images[0, 0] @ images[0, 0]).dtype)
        assert torch.float32 == (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(torch.rand(2, device="cuda"), torch.rand(2, device="cuda"))
        with torch.autocast("cuda", enabled=False):
            assert torch.float32 == net(images).dtype
    scaler.scale(loss).backward()
    scaler.unscale_(optimiser)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimiser)
    scaler.update()
    assert torch.float32 == net[0].weight.grad.dtype
    assert not torch.equal(before, net[0].weight)
    assert torch.float16 == copy.deepcopy(net).half()(images.half()).dtype


def test_an_infinite_gradient_skips_the_step(machine):
    w = nn.Parameter(torch.ones(2, device="cuda"))
    optimiser, scaler = torch.optim.SGD([w], 0.1), torch.amp.GradScaler("cuda", init_scale=2.0)
    scaler.scale((w * float("inf")).sum()).backward()
    scaler.step(optimiser)
    scaler.update()
    assert ([1.0, 1.0], 1.0) == (w.tolist(), scaler.get_scale())


@FORK_WARNS
@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("pinned", [False, True])
def test_loaders_feed_the_gpu(machine, workers, pinned):
    data = TensorDataset(torch.randn(10, 3), torch.arange(10))
    seen = []
    for images, labels in DataLoader(data, batch_size=4, shuffle=True, num_workers=workers, pin_memory=pinned):
        assert ("cpu", pinned) == (places(images), images.is_pinned())
        assert "cuda:0" == places([images.to("cuda", non_blocking=True), labels.cuda(non_blocking=True)])
        seen += labels.tolist()
    assert list(range(10)) == sorted(seen)


class Moving(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.ones(2).to("cuda")


class Scaling(Moving):
    scale = None

    def __getitem__(self, index):
        return index * self.scale


@FORK_WARNS
def test_a_dataset_on_the_gpu_needs_no_workers(machine):
    data = TensorDataset(torch.randn(10, 3, device="cuda"), torch.arange(10, device="cuda"))
    assert "cuda:0" == places([t for batch in DataLoader(data, batch_size=4, shuffle=True) for t in batch])
    assert "cuda:0" == places(DataLoader(Moving()))
    with pytest.raises(RuntimeError, match=r"cannot pin 'torch\.cuda\.FloatTensor' only dense CPU tensors can be pinned"):
        list(DataLoader(data, pin_memory=True))
    with pytest.raises(RuntimeError, match="CUDA error: initialization error"):
        list(DataLoader(data, num_workers=1))
    Scaling.scale = torch.tensor([2.0], device="cuda")
    with pytest.raises(RuntimeError, match="CUDA error: initialization error"):
        list(DataLoader(Scaling(), num_workers=1))
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(DataLoader(Moving(), num_workers=1))


def test_pinned_memory_says_so(machine):
    h = torch.ones(3)
    pinned = h.pin_memory()
    assert [False, True, True, False, True] == [
        h.is_pinned(),
        pinned.is_pinned(),
        pinned.view(3, 1).is_pinned(),
        (pinned + 1).is_pinned(),
        torch.empty(2, pin_memory=True).is_pinned(),
    ]
    assert torch.equal(h, pinned)


def test_recurrent_and_packed(machine):
    net = nn.LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1).cuda()
    batch = torch.randn(2, 5, 3, device="cuda")
    packed = nn.utils.rnn.pack_padded_sequence(batch, torch.tensor([3, 5]), batch_first=True, enforce_sorted=False)
    out, lengths = nn.utils.rnn.pad_packed_sequence(net(packed)[0], batch_first=True)
    assert ("cuda:0", "cpu", "cuda:0", "cpu") == (places(packed.data), places(packed.batch_sizes), places(out), places(lengths))
    out.sum().backward()
    assert "cuda:0" == places([net(batch)[0], *(p.grad for p in net.parameters())])


@pytest.mark.parametrize("evaluating", [False, True])
def test_transformers(machine, evaluating):
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False).cuda()
    net.train(not evaluating)
    with torch.set_grad_enabled(not evaluating):
        assert "cuda:0" == places(net(torch.randn(2, 3, 8, device="cuda")))
        with pytest.raises(RuntimeError):
            net(torch.randn(2, 3, 8))


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_traced_scripted_compiled_and_parallel_modules(gpu):
    x, h = torch.randn(2, 3, device="cuda"), torch.randn(2, 3)
    for net in (torch.jit.trace(nn.Linear(3, 2).cuda(), x), torch.jit.script(nn.Linear(3, 2).cuda()), torch.compile(nn.Linear(3, 2).cuda())):
        assert "cuda:0" == places(net(x))
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            net(h)
    assert "cuda:0" == places(nn.DataParallel(nn.Linear(3, 2)).cuda()(h))
    decorated = torch.compile(mode="reduce-overhead")(lambda t: t + 1)
    assert "cuda:0" == places(decorated(x))


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.parametrize("library", ["torch.utils.tensorboard", "tensorboardX"])
def test_tensorboard_takes_gpu_tensors(gpu, tmp_path, library):
    writer = pytest.importorskip(library).SummaryWriter(str(tmp_path))
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 26 * 26, 10)).cuda()
    images = torch.rand(2, 1, 28, 28, device="cuda")
    writer.add_scalar("loss", images.mean(), 0)
    writer.add_histogram("weight", net[0].weight, 0)
    writer.add_image("image", images[0], 0)
    writer.add_images("images", images, 0)
    writer.add_graph(net, images)
    writer.close()
    assert list(tmp_path.iterdir())


# --- torch.cuda and its neighbours -------------------------------------------------------------------------------


def test_torch_cuda_answers_as_with_one_gpu(gpu):
    cuda = torch.cuda
    assert (True, 1, 0, True) == (cuda.is_available(), cuda.device_count(), cuda.current_device(), cuda.is_initialized())
    assert "Simulated CUDA device" == cuda.get_device_name() == cuda.get_device_name(0) == cuda.get_device_properties("cuda").name
    assert cuda.get_device_properties(0).total_memory == cuda.mem_get_info()[1] > cuda.mem_get_info()[0] - 1
    assert isinstance(cuda.get_device_capability(), tuple)
    assert cuda.is_bf16_supported()
    with pytest.raises(AssertionError, match="Invalid device id"):
        cuda.get_device_properties(1)
    before = cuda.memory_allocated()
    big = torch.zeros(100_000, device="cuda")
    assert 400_000 == cuda.memory_allocated() - before == big.nbytes
    del big
    assert before == cuda.memory_allocated()
    assert before + 400_000 <= cuda.max_memory_allocated()
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "memory_summary", "memory_stats", "memory_reserved", "ipc_collect"):
        getattr(cuda, name)()
    assert torch.get_device_module() is torch.get_device_module("cuda") is cuda


def test_torch_accelerator_answers_as_with_one_gpu(gpu):
    accelerator = torch.accelerator
    assert (True, 1, "cuda") == (accelerator.is_available(), accelerator.device_count(), accelerator.current_accelerator().type)
    accelerator.synchronize()
    assert 0 == getattr(accelerator, "current_device_index", accelerator.current_device_idx)()
    assert accelerator.current_stream().query()


def test_streams_and_events(machine):
    x = torch.ones(3, device="cuda")
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        start.record()
        x.mul_(2)
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    x.record_stream(stream)
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
    with torch.cuda.device(0), torch.cuda.device_of(x):
        assert "cuda:0" == places(torch.ones(1, device="cuda"))


def test_the_gpu_has_a_random_stream_of_its_own(machine):
    def draw():
        return [
            *torch.randn(2, device="cuda").tolist(),
            *F.dropout(torch.ones(20, device="cuda")).tolist(),
            *torch.rand_like(torch.ones(1).cuda()).tolist(),
        ]

    torch.manual_seed(3)
    first, host = draw(), torch.rand(2).tolist()
    torch.manual_seed(3)
    assert (host, first) == (torch.rand(2).tolist(), draw())
    torch.cuda.manual_seed_all(3)
    second = draw()
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    assert second == draw()
    torch.cuda.set_rng_state(state)
    assert second == draw()
    with torch.random.fork_rng():
        third = draw()
    assert third == draw()


def test_generators_have_a_device(machine):
    generator = torch.Generator(device="cuda").manual_seed(1)
    first = torch.randperm(6, device="cuda", generator=generator)
    assert torch.equal(first, torch.randperm(6, device="cuda", generator=generator.manual_seed(1)))
    assert ("cuda", "cpu") == (generator.device.type, torch.Generator().device.type)
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)


def test_the_default_device_can_be_the_gpu(machine):
    try:
        torch.set_default_device("cuda")
        assert GPU == torch.get_default_device()
        made = [torch.zeros(2), torch.tensor([1]), torch.arange(3), torch.as_tensor([1.0]), nn.Linear(2, 2).weight, torch.randperm(3), torch.rand(2)]
        assert "cuda:0" == places(made)
        assert "cpu" == places([torch.zeros(2, device="cpu"), torch.from_numpy(np.ones(2))])
        data = TensorDataset(torch.randn(8, 2))
        assert "cuda:0" == places([batch for (batch,) in DataLoader(data, batch_size=4)])
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
            list(DataLoader(data, shuffle=True))
        assert "cuda:0" == places([batch for (batch,) in DataLoader(data, shuffle=True, generator=torch.Generator(device="cuda"))])
        net = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        net(torch.randn(2, 3, 4)).sum().backward()
    finally:
        torch.set_default_device(None)
    assert "cpu" == places(torch.zeros(2))


def test_a_device_is_a_context(machine):
    with torch.device("cuda"):
        net = nn.Linear(2, 2)
        assert "cuda:0" == places([torch.zeros(2), net.weight])
        net(torch.randn(1, 2)).sum().backward()
    assert "cpu" == places(torch.zeros(2))


def test_other_devices_are_left_alone(gpu):
    assert ("meta", "meta") == (places(torch.zeros(2, device="meta")), places(torch.ones(2, device="cuda").to("meta")))
    assert not torch.zeros(2, device="meta").is_cuda


# --- the simulation itself ---------------------------------------------------------------------------------------


def fingerprint():
    owners = (
        torch,
        torch.cuda,
        torch.cuda.memory,
        torch.cuda.random,
        torch.accelerator,
        torch.autograd,
        torch.Tensor,
        torch.nn.Module,
        torch._C,
        torch._C._nn,
    )
    more = (torch.UntypedStorage, torch.jit.ScriptModule, torch.autograd.graph.saved_tensors_hooks, torch.autograd.Function, torch.nn.parallel.comm)
    names = {
        (str(owner), name): id(value) for owner in (*owners, *more) for name, value in vars(owner).items() if not isinstance(value, (int, float))
    }
    return names | {"register": [id(entry) for entry in torch.serialization._package_registry], "modes": torch._C._len_torch_function_stack()}


def test_everything_is_put_back():
    with simulated_cuda():
        pass
    before = fingerprint()

    def stumble():
        with simulated_cuda():
            torch.set_default_device("cuda")
            torch.zeros(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()
    assert before == fingerprint()
    assert "cpu" == places(torch.zeros(2))


def test_entered_again_it_does_nothing(gpu):
    with simulated_cuda():
        x = torch.ones(2, device="cuda")
    assert torch.cuda.is_available()
    assert is_simulated(x)
    assert "cuda:0" == places(x)


def test_outside_a_tensor_keeps_its_tag_and_is_a_plain_host_tensor():
    with simulated_cuda():
        x, h = torch.ones(2, device="cuda"), torch.ones(2)
    assert (True, False, "cpu") == (is_simulated(x), is_simulated(h), str(x.device))
    assert [2.0, 2.0] == (x + h).tolist()


def test_tags_survive_garbage_collection_after_saving(gpu):
    net = nn.Linear(2, 2).cuda()
    for _ in range(3):
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        torch.load(file)
        gc.collect()
        assert "cuda:0" == places(net.parameters())


def test_tags_die_with_the_memory(gpu):
    place._sweep()
    gc.collect()
    before = len(place._PLACES)
    for _ in range(3 * place._SWEEP_AT):
        torch.zeros(2, device="cuda")
        fresh = torch.zeros(2)
        assert not is_simulated(fresh)
    assert len(place._PLACES) <= before + 2 * place._SWEEP_AT
    gc.collect()
    place._sweep()
    assert len(place._PLACES) <= before + 4


def test_no_call_keeps_a_tensor_alive(gpu):
    import weakref

    x = torch.ones(3, device="cuda")
    watched = weakref.ref(x)
    _ = [x + 1, repr(x), x.to("cuda", torch.float64), x.cpu(), F.dropout(x)]
    del x
    assert watched() is None


def test_a_second_import_shares_the_tags(gpu):
    x = torch.ones(2, device="cuda")
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "grader"}
    try:
        for name in kept:
            del sys.modules[name]
        from grader.run.simcuda import is_simulated as again

        assert again is not is_simulated
        assert again(x)
    finally:
        for name in [n for n in sys.modules if n.split(".")[0] == "grader"]:
            del sys.modules[name]
        sys.modules.update(kept)


def test_threads_started_inside_see_the_gpu(machine):
    net, h = nn.Linear(3, 2).cuda(), torch.ones(1, 3)
    with ThreadPoolExecutor(1) as pool:
        assert "cuda:0" == pool.submit(lambda: places([net(h.to("cuda")), torch.ones(1, device="cuda")])).result()
        assert "mat1" in str(pool.submit(net, h).exception())
        pool.submit(lambda: net(h.cuda()).sum().backward()).result()
    assert "cuda:0" == places(net.weight.grad)


def test_a_subclass_stays_one(machine):
    from torchvision.tv_tensors import Image

    image = Image(torch.rand(1, 4, 4)).to("cuda")
    assert isinstance(image, Image)
    assert "cuda:0 cpu" == places([image, image.cpu()])


def test_other_modes_may_sit_on_top(gpu):
    class Counting(torch.overrides.TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            Counting.calls += 1
            return func(*args, **(kwargs or {}))

    with Counting():
        assert "cuda:0" == places(nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()))
    assert Counting.calls > 3


def test_a_script_runs_under_it_without_a_warning():
    script = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from grader.run.simcuda import simulated_cuda

def main():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3)).to("cuda")
    optimiser = torch.optim.AdamW(net.parameters(), 0.01)
    data = TensorDataset(torch.randn(64, 4), torch.randint(3, (64,)))
    correct = 0
    for x, y in DataLoader(data, batch_size=16, shuffle=True, pin_memory=True):
        x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimiser.step()
        correct += (net(x).argmax(1) == y).sum()
    return f"{correct.device} {loss.device} {loss.item() > 0}"

with simulated_cuda():
    print(main())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=300,
    )
    assert ("cuda:0 cuda:0 True", "") == (done.stdout.strip(), done.stderr), done.stderr


def test_training_gives_the_numbers_of_the_host():
    def train(device):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 4)).to(device)
        optimiser = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        images, labels = torch.randn(16, 1, 8, 8), torch.randint(4, (16,))
        for _ in range(3):
            optimiser.zero_grad()
            loss = F.cross_entropy(net(images.to(device)), labels.to(device))
            loss.backward()
            optimiser.step()
        return loss.item(), nn.utils.parameters_to_vector(net.parameters()).tolist()

    expected = train("cpu")
    with warnings.catch_warnings(), simulated_cuda():
        warnings.simplefilter("error")
        assert expected == train("cuda")


def test_the_public_face_is_small():
    import grader.run.simcuda as face

    public = {name for name, value in vars(face).items() if isinstance(value, types.FunctionType) and value.__module__ == face.__name__}
    assert {"simulated_cuda", "is_simulated"} == public
