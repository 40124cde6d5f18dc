"""lw.nn against NumPy, and against torch where it is installed."""

import math

import loopwright as lw
import numpy as np
import pytest
from loopwright import nn

n, c, h, w, o, r, s, i, j, d, e, b = lw.symbols("n c h w o r s i j d e b")
RNG = np.random.default_rng(1)


def random(*shape):
    return (RNG.random(shape, dtype="f4") - 0.5).astype("f4")


def close(got, expected, scale=1.0):
    """Sums of at most some hundred terms of size 1: a few hundred roundings."""
    got = got.numpy()
    expected = np.asarray(expected)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    np.testing.assert_allclose(got, expected, rtol=2e-5 * scale, atol=2e-5 * scale)


def np_conv(x, k, stride=(1, 1), dilation=(1, 1), padding=(0, 0), groups=1):
    x = np.pad(x.astype("f8"), [(0, 0), (0, 0)] + [(p, p) for p in padding])
    oh, ow = [(x.shape[2 + a] - dilation[a] * (k.shape[2 + a] - 1) - 1) // stride[a] + 1 for a in (0, 1)]
    out = np.zeros((x.shape[0], k.shape[0], oh, ow))
    per, each = k.shape[1], k.shape[0] // groups
    for channel in range(k.shape[0]):
        part = x[:, channel // each * per:channel // each * per + per]
        for y in range(oh):
            for z in range(ow):
                at = part[:, :, y * stride[0]:y * stride[0] + dilation[0] * (k.shape[2] - 1) + 1:dilation[0],
                          z * stride[1]:z * stride[1] + dilation[1] * (k.shape[3] - 1) + 1:dilation[1]]
                out[:, channel, y, z] = (at * k[channel]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_conv(stride, dilation, padding, groups):
    x, k = random(2, 8, 9, 7), random(4, 8 // groups, 3, 2)
    got = nn.conv(lw.Tensor(x).to(n, c, h, w), lw.Tensor(k).to(o, c, r, s), {h: r, w: s}, stride=stride, dilation=dilation, padding=padding, groups=groups)
    assert got.symbols == (n, o, h, w)
    close(got, np_conv(x, k, stride, dilation, padding, groups))


def test_conv_depthwise_one_dimension_and_bias():
    x, k, bias = random(2, 5, 9, 7), random(5, 3, 3), random(5)
    got = nn.conv(lw.Tensor(x).to(n, c, h, w), lw.Tensor(k).to(c, r, s), {h: r, w: s}, lw.Tensor(bias).to(c), padding={h: 1, w: 1}, keep=[c])
    close(got, np_conv(x, k[:, None], padding=(1, 1), groups=5) + bias[:, None, None])
    x, k = random(3, 20), random(4, 3, 5)
    got = nn.conv(lw.Tensor(x).to(c, h), lw.Tensor(k).to(o, c, r), {h: r})
    close(got, np_conv(x[None, :, :, None], k[..., None])[0, :, :, 0])


def test_conv_errors():
    x, k = lw.Tensor(random(3, 8)).to(c, h), lw.Tensor(random(4, 3, 3)).to(o, c, r)
    with pytest.raises(lw.Error, match="maps 'w' to 's'"):
        nn.conv(x, k, {w: s})
    with pytest.raises(lw.Error, match="2 numbers for 1"):
        nn.conv(x, k, {h: r}, stride=(1, 2))
    with pytest.raises(lw.Error, match="do not divide"):
        nn.conv(x, k, {h: r}, groups=2)
    with pytest.raises(lw.Error, match="share"):
        nn.linear(x, lw.Tensor(random(2, 2)).to(i, j))


def test_pools():
    x = random(2, 3, 8, 6)
    X = lw.Tensor(x).to(n, c, h, w)
    blocks = x.reshape(2, 3, 4, 2, 3, 2)
    close(nn.max_pool(X, {h: 2, w: 2}), blocks.max((3, 5)))
    close(nn.avg_pool(X, {h: 2, w: 2}), blocks.mean((3, 5)))
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    close(nn.max_pool(X, {h: 3, w: 3}, stride=2, padding=1), view.max((4, 5)))
    ints = RNG.integers(-9, 9, (1, 1, 4, 4)).astype("i4")
    got = nn.max_pool(lw.Tensor(ints).to(n, c, h, w), {h: 3, w: 3}, stride=1, padding=1).numpy()
    assert got.shape == (1, 1, 4, 4) and got[0, 0, 0, 0] == ints[0, 0, :2, :2].max()


def test_linear():
    x, k, bias = random(4, 6), random(5, 6), random(5)
    close(nn.linear(lw.Tensor(x).to(b, i), lw.Tensor(k).to(o, i), lw.Tensor(bias).to(o)), x @ k.T + bias)


def test_norms():
    x, g, z = random(4, 6, 5), random(6, 5), random(6, 5)
    X = lw.Tensor(x).to(n, c, h)
    mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    close(nn.layer_norm(X, c, h, weight=lw.Tensor(g).to(c, h), bias=lw.Tensor(z).to(c, h)), (x - mean) / np.sqrt(var + 1e-5) * g + z, 4)
    close(nn.rms_norm(X, h, weight=lw.Tensor(g[0]).to(h)), x / np.sqrt((x * x).mean(2, keepdims=True) + 1e-5) * g[0], 4)
    m, v = x.mean((0, 2)), x.var((0, 2))
    each = [lw.Tensor(a).to(c) for a in (m, v, g[:, 0].copy(), z[:, 0].copy())]
    close(nn.batch_norm(X, *each), (x - m[:, None]) / np.sqrt(v + 1e-5)[:, None] * g[:, :1] + z[:, :1], 4)
    grouped = x.reshape(4, 3, 2, 5)
    expected = ((grouped - grouped.mean((2, 3), keepdims=True)) / np.sqrt(grouped.var((2, 3), keepdims=True) + 1e-5)).reshape(x.shape)
    close(nn.group_norm(X, 3, c, h), expected, 4)
    with pytest.raises(lw.Error, match="4 groups do not divide 6"):
        nn.group_norm(X, 4, c, h)


def np_softmax(x, axis):
    z = np.exp(x - x.max(axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


def test_softmax_and_attention():
    x = random(4, 7) * 9
    close(nn.softmax(lw.Tensor(x).to(i, j), j), np_softmax(x, 1))
    close(nn.softmax(lw.Tensor(x).to(i, j), i), np_softmax(x, 0))
    close(nn.log_softmax(lw.Tensor(x).to(i, j), j), np.log(np_softmax(x.astype("f8"), 1)), 4)
    q, k, v = random(2, 3, 5, 4), random(2, 3, 6, 4), random(2, 3, 6, 4)
    Q, K, V = lw.Tensor(q).to(n, h, i, d), lw.Tensor(k).to(n, h, j, d), lw.Tensor(v).to(n, h, j, e)
    scores = np.einsum("nhid,nhjd->nhij", q, k) / 2
    close(nn.attention(Q, K, V, j, d), np_softmax(scores, 3) @ v)
    close(nn.attention(Q, K, lw.Tensor(v).to(n, h, j, d), j, d), np_softmax(scores, 3) @ v)
    causal = np.where(np.arange(5)[:, None] >= np.arange(6), scores, -np.inf)
    close(nn.attention(Q, K, V, j, d, mask=i >= j), np_softmax(causal, 3) @ v)
    close(nn.attention(Q, K, V, j, d, scale=2.0), np_softmax(scores * 4, 3) @ v)
    with pytest.raises(lw.Error, match="needs the dimension"):
        nn.attention(Q, K, V, i, d)


ERF = np.vectorize(math.erf)
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "silu": lambda x: x / (1 + np.exp(-x)), "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "gelu": lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x)))}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations(name):
    x = random(50) * 20
    close(getattr(nn, name)(lw.Tensor(x).to(i)), ACTIVATIONS[name](x.astype("f8")))


def test_a_network_is_one_kernel():
    """Convolution, pool, two layers and a softmax: one Program, the same as step by step."""
    x, k, w1, w2 = random(2, 1, 12, 12), random(4, 1, 3, 3), random(8, 4, 5, 5), random(3, 8)
    y = nn.max_pool(nn.relu(nn.conv(lw.Tensor(x).to(n, c, h, w), lw.Tensor(k).to(o, c, r, s), {h: r, w: s})), {h: 2, w: 2})
    y = nn.gelu(nn.linear(y, lw.Tensor(w1).to(d, o, h, w)))
    y = nn.softmax(nn.linear(y, lw.Tensor(w2).to(e, d)), e)
    assert y.program.count("program ") == 1
    z = np.maximum(np_conv(x, k), 0).reshape(2, 4, 5, 2, 5, 2).max((3, 5))
    z = ACTIVATIONS["gelu"](np.einsum("nohw,dohw->nd", z, w1))
    close(y, np_softmax(z @ w2.T, 1))


def test_torch_agrees():
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    x, k = random(2, 8, 9, 9), random(16, 2, 3, 3)
    X = lw.Tensor(torch.from_numpy(x)).to(n, c, h, w)
    got = nn.conv(X, lw.Tensor(k).to(o, c, r, s), {h: r, w: s}, stride=2, padding=1, groups=4)
    close(got, f.conv2d(torch.from_numpy(x), torch.from_numpy(k), stride=2, padding=1, groups=4))
    close(nn.avg_pool(X, {h: 3, w: 3}, stride=2, padding=1), f.avg_pool2d(torch.from_numpy(x), 3, 2, 1))
    assert isinstance(got.torch(), torch.Tensor)
    if not hasattr(f, "scaled_dot_product_attention"):
        pytest.skip("this torch has no scaled_dot_product_attention")
    q, kk, v = (torch.from_numpy(random(2, 4, 5, 8)) for _ in range(3))
    close(nn.attention(lw.Tensor(q).to(n, h, i, d), lw.Tensor(kk).to(n, h, j, d), lw.Tensor(v).to(n, h, j, e), j, d),
          f.scaled_dot_product_attention(q, kk, v))
