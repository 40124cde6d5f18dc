#!/usr/bin/env python3
"""Times kernels on a GPU against torch: its eager operations (cuBLAS, cuDNN) and torch.compile.

    bench/gpu.py [--build DIR] [--device cuda:0] [--only NAME,..] [--group NAME,..] [--check]
                 [--tuned SECONDS] [--variants DIR] [--eager]

Ours and the peers run in one process on the same tensors. Each becomes a CUDA graph of many runs;
the graphs alternate, and the ratio is the median of pairs. A result is compared with torch's before
it is timed. With --tuned each program is tuned for so long first, and the table has the times of
both Schedules, when the search had found 95 % of its final speed, and how many candidates it tried
per second. With --variants, files DIR/NAME.*.lws (NAME: the row's, other characters than letters and
digits as _) are further Schedules of a row, timed beside the chosen one. With --eager the only peer
is eager torch: torch.compile takes seconds per row. Without torch, or without a GPU, only --check works: it runs every program at a small
size on the emulator and compares it with the interpreter. Prints a table for
docs/performance-gpu.md.
"""

import argparse
import collections
import ctypes
import glob
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A Program of the table: its text, sizes, small sizes for --check, shapes of inputs and outputs, and
# torch's expression over the inputs a, b, c ... Inputs "B,L<E" are indices below E, outputs "N<K"
# integers. The last output is compared. Groups: "tc", the kernels of the TC paper; "odd", products
# of odd sizes; "programs", programs of several stages.
Row = collections.namedtuple("Row", "name text sizes small inputs outputs torch group")
PROGRAMS = []


def program(name, text, sizes, small, inputs, outputs, torch_text, group):
    PROGRAMS.append(Row(name, text, sizes, small, inputs, outputs, torch_text, group))


MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
for m, n, k in ((128, 256, 32), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024),
                (128, 1024, 1024), (4096, 4096, 4096), (1000, 1000, 1000), (999, 1001, 1003),
                (2000, 2000, 2000), (777, 333, 555), (100, 100, 100), (16, 4096, 4096)):
    odd = m < 4096 and (m & (m - 1) or m == 16)
    program(f"gemm {m}x{n}x{k}", MM, {"M": m, "N": n, "K": k}, {"M": 20, "N": 33, "K": 17},
            ["M,K", "K,N"], ["M,N"], "torch.mm(a, b)", "odd" if odd else "gemm")
for m, n, k in ((1, 4096, 4096), (4096, 1, 4096), (4096, 4096, 1)):
    program(f"gemm {m}x{n}x{k}", MM, {"M": m, "N": n, "K": k},
            {"M": min(m, 40), "N": min(n, 300), "K": min(k, 400)}, ["M,K", "K,N"], ["M,N"],
            "torch.mm(a, b)", "odd")
for b, m in ((256, 32), (64, 64), (1000, 16), (16, 100)):
    program(f"batch of {b} gemm {m}x{m}x{m}",
            "def bmm(float(B,M,K) X, float(B,K,N) Y) -> (Z) { Z(b,m,n) +=! X(b,m,k) * Y(b,k,n) }",
            {"B": b, "M": m, "N": m, "K": m}, {"B": 3, "M": 20, "N": 33, "K": 17},
            ["B,M,K", "B,K,N"], ["B,M,N"], "torch.bmm(a, b)", "odd")
program("tbmm", "def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) { Z(b,n,k) +=! X(b,n,m) * Y(b,k,m) }",
        {"B": 500, "N": 26, "M": 72, "K": 26}, {"B": 2, "N": 5, "M": 7, "K": 6},
        ["B,N,M", "B,K,M"], ["B,N,K"], "torch.bmm(a, b.transpose(1, 2))", "tc")
for c, h in ((4, 56), (8, 28), (16, 14), (32, 7)):
    program(f"gconv C{c}", "def gconv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) V) -> (O) {\n"
            " O(n,g,f,h,w) +=! I(n,g,c,h + kh,w + kw) * V(g,f,c,kh,kw) }",
            {"N": 32, "G": 32, "C": c, "F": c, "H": h + 2, "W": h + 2, "KH": 3, "KW": 3},
            {"N": 2, "G": 2, "C": 3, "F": 4, "H": 8, "W": 7, "KH": 3, "KW": 3},
            ["N,G,C,H,W", "G,F,C,KH,KW"], ["N,G,F,H-KH+1,W-KW+1"],
            "torch.nn.functional.conv2d(a.flatten(1, 2), b.flatten(0, 1), groups=32).view("
            f"32, 32, {c}, {h}, {h})", "tc")
for c, f, h in ((64, 256, 56), (512, 128, 28)):
    program(f"conv 1x1 {c}->{f}@{h}", "def conv1(float(N,C,H,W) I, float(F,C) V) -> (O) {\n"
            " O(n,f,h,w) +=! I(n,c,h,w) * V(f,c) }", {"N": 32, "C": c, "F": f, "H": h, "W": h},
            {"N": 2, "C": 17, "F": 20, "H": 5, "W": 7}, ["N,C,H,W", "F,C"], ["N,F,H,W"],
            "torch.nn.functional.conv2d(a, b[:, :, None, None])", "layers")
program("1LUT", "def lut(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
        {"E": 10000000, "D": 64, "B": 128, "L": 50}, {"E": 9, "D": 8, "B": 3, "L": 5},
        ["E,D", "B,L<E"], ["B,D"], "torch.nn.functional.embedding_bag(b, a, mode='sum')", "tc")
program("2LUT", "def lut2(float(E,D) T, int32(B,L) I, float(G,D) U, int32(B,L) J) -> (O, P) {\n"
        " O(b,d) +=! T(I(b,l),d)\n P(b,d) +=! U(J(b,l),d) }",
        {"E": 10000000, "G": 10000000, "D": 64, "B": 128, "L": 50},
        {"E": 9, "G": 7, "D": 8, "B": 3, "L": 5}, ["E,D", "B,L<E", "G,D", "B,L<G"], ["B,D", "B,D"],
        "(torch.nn.functional.embedding_bag(b, a, mode='sum'), "
        "torch.nn.functional.embedding_bag(d, c, mode='sum'))", "tc")
program("C3", "def c3(float(B,X) I, float(Y,X) W) -> (O) { O(b,y) +=! I(b,x) * W(y,x) }",
        {"B": 128, "X": 1000, "Y": 1024}, {"B": 17, "X": 20, "Y": 33}, ["B,X", "Y,X"], ["B,Y"],
        "torch.mm(a, b.t())", "tc")
program("MLP1", "def mlp1(float(B,M) I, float(O,M) W, float(O) b) -> (R) { R(n,o) +=! I(n,m) * W(o,m)\n"
        " R(n,o) = fmax(R(n,o) + b(o), 0.0) }", {"B": 128, "M": 2000, "O": 128},
        {"B": 17, "M": 20, "O": 33}, ["B,M", "O,M", "O"], ["B,O"],
        "torch.relu(torch.nn.functional.linear(a, b, c))", "tc")
program("MLP3", "def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3,\n"
        " float(Q,P) W4, float(Q) B4) -> (O4) {\n"
        " O2(b,o) +=! I(b,n) * W2(o,n)\n O2(b,o) = fmax(O2(b,o) + B2(o), 0.0)\n"
        " O3(b,p) +=! O2(b,o) * W3(p,o)\n O3(b,p) = fmax(O3(b,p) + B3(p), 0.0)\n"
        " O4(b,q) +=! O3(b,p) * W4(q,p)\n O4(b,q) = fmax(O4(b,q) + B4(q), 0.0) }",
        {"B": 128, "N": 128, "O": 64, "P": 32, "Q": 2}, {"B": 5, "N": 24, "O": 20, "P": 17, "Q": 2},
        ["B,N", "O,N", "O", "P,O", "P", "Q,P", "Q"], ["B,Q"],
        "torch.relu(torch.nn.functional.linear(torch.relu(torch.nn.functional.linear(torch.relu("
        "torch.nn.functional.linear(a, b, c)), d, e)), f, g))", "tc")
program("attention", "def attention(float(B,N,D) Q, float(B,M,D) K, float(B,M,D) V) -> (O) {\n"
        " S(b,i,j) +=! Q(b,i,d) * K(b,j,d)\n T(b,i) max=! S(b,i,j)\n"
        " S(b,i,j) = exp(0.125 * (S(b,i,j) - T(b,i)))\n Z(b,i) +=! S(b,i,j)\n"
        " O(b,i,d) +=! S(b,i,j) * V(b,j,d)\n O(b,i,d) = O(b,i,d) / Z(b,i) }",
        {"B": 8, "N": 1024, "M": 1024, "D": 64}, {"B": 2, "N": 33, "M": 40, "D": 16},
        ["B,N,D", "B,M,D", "B,M,D"], ["B,N,D"],
        "torch.nn.functional.scaled_dot_product_attention(a, b, c, scale=0.125)", "layers")
program("softmax", "def softmax(float(N,M) X) -> (Y) { T(i) max=! X(i,j)\n"
        " E(i,j) = exp(X(i,j) - T(i))\n S(i) +=! E(i,j)\n Y(i,j) = E(i,j) / S(i) }",
        {"N": 4096, "M": 4096}, {"N": 3, "M": 40}, ["N,M"], ["N,M"], "torch.softmax(a, 1)", "rows")
program("layer norm", "def layernorm(float(N,M) X) -> (Y) { T(i) +=! X(i,j)\n"
        " V(i) +=! (X(i,j) - T(i) / M) * (X(i,j) - T(i) / M)\n"
        " Y(i,j) = (X(i,j) - T(i) / M) * rsqrt(V(i) / M + 0.00001) }", {"N": 4096, "M": 4096},
        {"N": 3, "M": 40}, ["N,M"], ["N,M"], "torch.nn.functional.layer_norm(a, a.shape[1:])", "rows")
program("axpy", "def axpy(float(N) X, float(N) Y) -> (Z) { Z(i) = 2.5 * X(i) + Y(i) }",
        {"N": 1 << 26}, {"N": 1000}, ["N", "N"], ["N"], "torch.add(b, a, alpha=2.5)", "rows")
program("chain", "def chain(float(N,M) X, float(N,M) Y) -> (Z) { Z(i,j) = tanh(X(i,j)) * exp(Y(i,j)) + 1.0 }",
        {"N": 4096, "M": 4096}, {"N": 13, "M": 40}, ["N,M", "N,M"], ["N,M"],
        "torch.tanh(a) * torch.exp(b) + 1.0", "rows")
program("gather", "def gather(float(E,D) T, int32(B) I) -> (O) { O(b,d) = T(I(b),d) }",
        {"E": 1000000, "D": 64, "B": 100000}, {"E": 9, "D": 8, "B": 30}, ["E,D", "B<E"], ["B,D"],
        "torch.index_select(a, 0, b)", "rows")
program("row sums", "def rowsum(float(N,M) X) -> (S) { S(i) +=! X(i,j) }", {"N": 4096, "M": 4096},
        {"N": 7, "M": 50}, ["N,M"], ["N"], "a.sum(1)", "rows")
program("column sums", "def colsum(float(N,M) X) -> (S) { S(j) +=! X(i,j) }", {"N": 4096, "M": 4096},
        {"N": 50, "M": 7}, ["N,M"], ["M"], "a.sum(0)", "rows")
program("transpose", "def transpose(float(N,M) X) -> (Y) { Y(j,i) = X(i,j) }", {"N": 4096, "M": 4096},
        {"N": 33, "M": 20}, ["N,M"], ["M,N"], "a.t().contiguous()", "rows")

# --- Programs of several stages ------------------------------------------------------------------

F = "torch.nn.functional."
program("group norm 32x256x28x28", "def groupnorm(float(N,G,C,H,W) X, float(G,C) A, float(G,C) B) -> (Y) {\n"
        " S(n,g) +=! X(n,g,c,h,w)\n"
        " V(n,g) +=! (X(n,g,c,h,w) - S(n,g) / (C*H*W)) * (X(n,g,c,h,w) - S(n,g) / (C*H*W))\n"
        " Y(n,g,c,h,w) = (X(n,g,c,h,w) - S(n,g) / (C*H*W)) * rsqrt(V(n,g) / (C*H*W) + 0.00001)\n"
        "     * A(g,c) + B(g,c) }", {"N": 32, "G": 32, "C": 8, "H": 28, "W": 28},
        {"N": 15, "G": 10, "C": 4, "H": 5, "W": 8}, ["N,G,C,H,W", "G,C", "G,C"], ["N,G,C,H,W"],
        F + "group_norm(a.flatten(1, 2), 32, b.flatten(), c.flatten()).view(a.shape)", "programs")
program("batch norm 32x256x28x28", "def batchnorm(float(N,C,H,W) X, float(C) A, float(C) B) -> (Y) {\n"
        " S(c) +=! X(n,c,h,w)\n"
        " V(c) +=! (X(n,c,h,w) - S(c) / (N*H*W)) * (X(n,c,h,w) - S(c) / (N*H*W))\n"
        " Y(n,c,h,w) = (X(n,c,h,w) - S(c) / (N*H*W)) * rsqrt(V(c) / (N*H*W) + 0.00001) * A(c) + B(c) }",
        {"N": 32, "C": 256, "H": 28, "W": 28}, {"N": 5, "C": 140, "H": 7, "W": 12},
        ["N,C,H,W", "C", "C"], ["N,C,H,W"],
        F + "batch_norm(a, None, None, b, c, training=True)", "programs")
program("softmax + gemm 4096x1024x256", "def softmm(float(N,K) X, float(K,M) W) -> (O) {\n"
        " T(i) max=! X(i,j)\n E(i,j) = exp(X(i,j) - T(i))\n S(i) +=! E(i,j)\n"
        " P(i,j) = E(i,j) / S(i)\n O(i,m) +=! P(i,k) * W(k,m) }", {"N": 4096, "K": 1024, "M": 256},
        {"N": 33, "K": 70, "M": 20}, ["N,K", "K,M"], ["N,M"], "torch.softmax(a, 1) @ b", "programs")
program("MLP 512x1024-4096-1024 + layer norm", "def mlp(float(B,N) X, float(H,N) W1, float(H) B1, float(M,H) W2,\n"
        " float(M) B2) -> (Y) {\n"
        " H1(b,h) +=! X(b,n) * W1(h,n)\n H1(b,h) = fmax(H1(b,h) + B1(h), 0.0)\n"
        " Z(b,m) +=! H1(b,h) * W2(m,h)\n Z(b,m) = Z(b,m) + B2(m)\n S(b) +=! Z(b,m)\n"
        " V(b) +=! (Z(b,m) - S(b) / M) * (Z(b,m) - S(b) / M)\n"
        " Y(b,m) = (Z(b,m) - S(b) / M) * rsqrt(V(b) / M + 0.00001) }",
        {"B": 512, "N": 1024, "H": 4096, "M": 1024}, {"B": 20, "N": 33, "H": 40, "M": 70},
        ["B,N", "H,N", "H", "M,H", "M"], ["B,M"],
        F + "layer_norm(" + F + "linear(torch.relu(" + F + "linear(a, b, c)), d, e), (1024,))", "programs")
program("attention block 1024x512, 8 heads", "def mha(float(N,E) X, float(H,D,E) WQ, float(H,D,E) WK, float(H,D,E) WV,\n"
        " float(F,H,D) WO) -> (Y) {\n"
        " Q(h,i,d) +=! X(i,e) * WQ(h,d,e)\n K(h,i,d) +=! X(i,e) * WK(h,d,e)\n"
        " V(h,i,d) +=! X(i,e) * WV(h,d,e)\n S(h,i,j) +=! Q(h,i,d) * K(h,j,d)\n"
        " T(h,i) max=! S(h,i,j)\n S(h,i,j) = exp(0.125 * (S(h,i,j) - T(h,i)))\n"
        " Z(h,i) +=! S(h,i,j)\n O(h,i,d) +=! S(h,i,j) * V(h,j,d)\n O(h,i,d) = O(h,i,d) / Z(h,i)\n"
        " Y(i,f) +=! O(h,i,d) * WO(f,h,d) }",
        {"N": 1024, "E": 512, "H": 8, "D": 64, "F": 512}, {"N": 48, "E": 17, "H": 70, "D": 16, "F": 20},
        ["N,E", "H,D,E", "H,D,E", "H,D,E", "F,H,D"], ["N,F"],
        "(" + F + "scaled_dot_product_attention(*((a @ w.flatten(0, 1).t()).view(-1, 8, 64).transpose(0, 1)"
        "[None] for w in (b, c, d)), scale=0.125)[0].transpose(0, 1).flatten(1) @ e.flatten(1).t())",
        "programs")
program("log-softmax + NLL 4096x32000", "def nll(float(N,M) X, int32(N) T) -> (L) {\n"
        " A(i) max=! X(i,j)\n S(i) +=! exp(X(i,j) - A(i))\n L(i) = log(S(i)) + A(i) - X(i,T(i)) }",
        {"N": 4096, "M": 32000}, {"N": 30, "M": 70}, ["N,M", "N<M"], ["N"],
        F + "cross_entropy(a, b.long(), reduction='none')", "programs")
program("RMS norm + projection 2048x1024x1024", "def rms(float(B,N) X, float(N) G, float(M,N) W) -> (Y) {\n"
        " S(b) +=! X(b,n) * X(b,n)\n Z(b,n) = X(b,n) * rsqrt(S(b) / N + 0.00001) * G(n)\n"
        " Y(b,m) +=! Z(b,n) * W(m,n) }", {"B": 2048, "N": 1024, "M": 1024},
        {"B": 33, "N": 70, "M": 20}, ["B,N", "N", "M,N"], ["B,M"],
        F + "linear(a * torch.rsqrt((a * a).mean(1, keepdim=True) + 0.00001) * b, c)", "programs")
program("depthwise + pointwise 128->256@28", "def separable(float(N,C,H,W) X, float(C,KH,KW) D, float(F,C) P) -> (O) {\n"
        " T(n,c,h,w) +=! X(n,c,h + kh,w + kw) * D(c,kh,kw)\n O(n,f,h,w) +=! T(n,c,h,w) * P(f,c) }",
        {"N": 32, "C": 128, "H": 30, "W": 30, "KH": 3, "KW": 3, "F": 256},
        {"N": 2, "C": 8, "H": 30, "W": 30, "KH": 3, "KW": 3, "F": 16},
        ["N,C,H,W", "C,KH,KW", "F,C"], ["N,F,H-KH+1,W-KW+1"],
        F + "conv2d(" + F + "conv2d(a, b[:, None], groups=128), c[:, :, None, None])", "programs")
program("conv + bias + relu + pool 64->128@32", "def convpool(float(N,C,H,W) X, float(F,C,KH,KW) V, float(F) B) -> (Y) {\n"
        " T(n,f,h,w) +=! X(n,c,h + kh,w + kw) * V(f,c,kh,kw)\n"
        " T(n,f,h,w) = fmax(T(n,f,h,w) + B(f), 0.0)\n"
        " Y(n,f,h,w) max=! T(n,f,2 * h + i,2 * w + j) where i in 0:2, j in 0:2 }",
        {"N": 32, "C": 64, "H": 34, "W": 34, "F": 128, "KH": 3, "KW": 3},
        {"N": 2, "C": 3, "H": 34, "W": 34, "F": 8, "KH": 3, "KW": 3},
        ["N,C,H,W", "F,C,KH,KW", "F"], ["N,F,(H-KH+1)//2,(W-KW+1)//2"],
        F + "max_pool2d(torch.relu(" + F + "conv2d(a, b, c)), 2)", "programs")
program("k-means assignment 65536x64, 256 centres", "def kmeans(float(N,D) X, float(K,D) C) -> (A) {\n"
        " Q(k) +=! C(k,d) * C(k,d)\n P(n,k) +=! X(n,d) * C(k,d)\n M(n) min=! Q(k) - 2.0 * P(n,k)\n"
        " A(n) min=! Q(k) - 2.0 * P(n,k) == M(n) ? int32(k) : int32(K) }",
        {"N": 65536, "D": 64, "K": 256}, {"N": 4300, "D": 16, "K": 40}, ["N,D", "K,D"], ["N<K"],
        "((b * b).sum(1) - 2.0 * (a @ b.t())).argmin(1)", "programs")
program("pairwise distances 4096x4096x64", "def distances(float(N,D) X, float(M,D) Y) -> (R) {\n"
        " A(n) +=! X(n,d) * X(n,d)\n B(m) +=! Y(m,d) * Y(m,d)\n P(n,m) +=! X(n,d) * Y(m,d)\n"
        " R(n,m) = sqrt(fmax(A(n) + B(m) - 2.0 * P(n,m), 0.0)) }", {"N": 4096, "M": 4096, "D": 64},
        {"N": 33, "M": 40, "D": 70}, ["N,D", "M,D"], ["N,M"],
        "torch.sqrt(torch.relu((a * a).sum(1)[:, None] + (b * b).sum(1) - 2.0 * (a @ b.t())))", "programs")
program("SwiGLU 1024x1024-2816", "def swiglu(float(B,N) X, float(M,N) G, float(M,N) U, float(N,M) D) -> (Y) {\n"
        " P(b,m) +=! X(b,n) * G(m,n)\n Q(b,m) +=! X(b,n) * U(m,n)\n"
        " H(b,m) = P(b,m) / (1.0 + exp(0.0 - P(b,m))) * Q(b,m)\n Y(b,n) +=! H(b,m) * D(n,m) }",
        {"B": 1024, "N": 1024, "M": 2816}, {"B": 20, "N": 33, "M": 40}, ["B,N", "M,N", "M,N", "N,M"],
        ["B,N"], F + "linear(" + F + "silu(" + F + "linear(a, b)) * " + F + "linear(a, c), d)", "programs")


# --- The library through ctypes ------------------------------------------------------------------

class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", Type), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Size(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("backend", ctypes.c_int), ("accumulate", ctypes.c_bool),
                ("skip_post", ctypes.c_bool), ("trap", ctypes.c_bool), ("timing", ctypes.c_void_p),
                ("schedule", ctypes.c_char_p), ("schedule_name", ctypes.c_char_p),
                ("seconds", ctypes.c_double), ("threads", ctypes.c_int), ("isa", ctypes.c_char_p),
                ("device", ctypes.c_char_p), ("stream", ctypes.c_void_p)]


class Timing(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("backend", ctypes.c_int), ("compile_us", ctypes.c_double),
                ("run_us", ctypes.c_double), ("median_us", ctypes.c_double)]


class Library:
    def __init__(self, build):
        self.so = ctypes.CDLL(os.path.join(build, "libloopwright.so"))
        self.so.lw_context_new.restype = self.so.lw_module_function.restype = ctypes.c_void_p
        self.so.lw_diag_text.restype = ctypes.c_char_p
        self.so.lw_module_function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.context = ctypes.c_void_p(self.so.lw_context_new(None))

    def check(self, status):
        if status:
            raise RuntimeError(self.so.lw_diag_text(self.context).decode())

    def bind(self, text, sizes):
        module, bound = ctypes.c_void_p(), ctypes.c_void_p()
        data = text.encode()
        self.check(self.so.lw_parse(self.context, b"bench.tc", data, ctypes.c_size_t(len(data)), None,
                                    ctypes.byref(module)))
        function = ctypes.c_void_p(self.so.lw_module_function(module, 0))
        list_ = (Size * len(sizes))(*[Size(n.encode(), v) for n, v in sizes.items()])
        self.check(self.so.lw_bind(self.context, function, list_, ctypes.c_size_t(len(sizes)),
                                   ctypes.byref(bound)))
        return bound

    def run(self, bound, tensors, device=None, backend=0, stream=None, seconds=0, schedule=None):
        """Runs; with `seconds`, measures for that time and returns the median in microseconds."""
        pointers = (ctypes.c_void_p * len(tensors))(*[ctypes.addressof(t) for t in tensors])
        timing = Timing(struct_size=ctypes.sizeof(Timing))
        options = Options(struct_size=ctypes.sizeof(Options), backend=backend, seconds=seconds,
                          timing=ctypes.addressof(timing) if seconds else None,
                          schedule=schedule, device=device.encode() if device else None, stream=stream)
        self.check(self.so.lw_run(self.context, bound, pointers, ctypes.c_size_t(len(tensors)),
                                  ctypes.byref(options)))
        return timing.median_us


def tensor(address, shape, cuda, index=False):
    sizes = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    t = Tensor(address, 2 if cuda is not None else 1, cuda or 0, len(shape), Type(0 if index else 2, 32, 1),
               sizes, None, 0)
    t.keep = sizes
    return t


def shapes(list_, sizes):
    """Shapes of "M,K" or, with the limit of its indices behind, "B,L<E": pairs (shape, limit or None)."""
    result = []
    for text in list_:
        shape, _, limit = text.partition("<")
        result.append(([eval(n, {}, sizes) for n in shape.split(",")], sizes[limit] if limit else None))
    return result


# --- Checking without a GPU ----------------------------------------------------------------------

def elements(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def draw(source, shape, limit):
    n = elements(shape)
    if limit is not None:
        return (ctypes.c_int32 * n)(*[source.randrange(limit) for _ in range(n)])
    return (ctypes.c_float * n)(*[source.randint(-4, 4) for _ in range(n)])


def close(a, b):
    limit = 1e-5 * max(1, max(map(abs, a)))
    return all(abs(x - y) <= limit for x, y in zip(a, b))


def check(library, rows):
    failed = 0
    for row in rows:
        source = random.Random(1)
        bound = library.bind(row.text, row.small)
        ins = [(draw(source, *s), *s) for s in shapes(row.inputs, row.small)]
        results = []
        for where in ({"backend": 1}, {"device": "emulate"}):
            outs = [(((ctypes.c_float if limit is None else ctypes.c_int32) * elements(s))(), s, limit)
                    for s, limit in shapes(row.outputs, row.small)]
            args = [tensor(ctypes.addressof(b), s, None, limit is not None) for b, s, limit in ins + outs]
            library.run(bound, args, **where)
            results.append([list(o) for o, _, _ in outs])
        same = all(close(a, b) for a, b in zip(*results))
        failed += not same
        print(f"{row.name:<24} {'right' if same else 'WRONG'}")
    return failed


# --- Timing --------------------------------------------------------------------------------------

def graph(torch, stream, run, times):
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g, stream=stream, capture_error_mode="relaxed"):
        for _ in range(times):
            run()
    return g


def once(torch, g):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    g.replay()
    b.record()
    b.synchronize()
    return 1e3 * a.elapsed_time(b)


def sampler(torch, stream, run, times):
    g = graph(torch, stream, run, times)
    return lambda: once(torch, g) / times


def names_of(list_):
    return "abcdefgh"[:len(list_)]


def tune(build, row, device, seconds):
    """What `loopwright tune --json` says about the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.tc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(row.text + "\n")
        done = subprocess.run(
            [os.path.join(build, "loopwright"), "tune", path, "--device", device, "--seconds", str(seconds),
             "--size", ",".join(f"{n}={v}" for n, v in row.sizes.items()), "--db", "none", "--json", "--quiet"],
            stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout).get("tunings") if done.stdout else None
    if not found:
        raise RuntimeError("tune: " + (done.stdout.splitlines() or ["no answer"])[0][:200])
    return found[0]


def variants(folder, row):
    """Further Schedules of a row: name -> text."""
    name = re.sub(r"[^A-Za-z0-9]", "_", row.name)
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, name + ".*.lws"))) if folder else []:
        with open(path, "rb") as file:
            found[os.path.basename(path)[len(name):-len(".lws")].strip(".")] = file.read()
    return found


def wrong(got, want):
    """Why the result is wrong, or None. Of integers, such as the index of a minimum, a few may differ."""
    if not got.is_floating_point():
        share = (got != want).float().mean().item()
        return f"{share:.1%} differ" if share > 1e-3 else None
    error = ((got - want).norm() / want.norm()).item()
    return None if error < 1e-5 else f"relative error {error:.1e}"


class Timed:
    """A row on the device: inputs, peers, and samplers of our Schedules."""

    def __init__(self, torch, library, device, row):
        number = int(device.split(":")[1]) if ":" in device else 0
        integer = torch.int32
        self.torch, self.library, self.device, self.row = torch, library, device, row
        self.ins = [torch.rand(s, device=device) - 0.5 if limit is None else
                    torch.randint(0, limit, s, device=device, dtype=integer)
                    for s, limit in shapes(row.inputs, row.sizes)]
        self.outs = [torch.empty(s, device=device, dtype=torch.float32 if limit is None else integer)
                     for s, limit in shapes(row.outputs, row.sizes)]
        self.args = [tensor(t.data_ptr(), list(t.shape), number, t.dtype == integer)
                     for t in self.ins + self.outs]
        self.bound = library.bind(row.text, row.sizes)
        self.stream = torch.cuda.Stream()
        self.function = eval(f"lambda {', '.join(names_of(self.ins))}: {row.torch}", {"torch": torch})
        want = self.function(*self.ins)
        self.want = want[-1] if isinstance(want, tuple) else want

    def run(self, schedule=None, seconds=0):
        return self.library.run(self.bound, self.args, device=self.device, seconds=seconds, schedule=schedule,
                                stream=self.stream.cuda_stream)

    def ours(self, schedule=None):
        """A sampler, after a comparison with torch."""
        self.outs[-1].zero_()
        self.torch.cuda.synchronize()
        self.run(schedule)
        self.torch.cuda.synchronize()
        why = wrong(self.outs[-1], self.want)
        if why:
            raise RuntimeError("wrong: " + why)
        # A run that checks indices waits for its status word, which a capture refuses: the library
        # makes the graph.
        if any(limit is not None for _, limit in shapes(self.row.inputs, self.row.sizes)):
            return lambda: self.run(schedule, 0.005)
        single = once(self.torch, graph(self.torch, self.stream, lambda: self.run(schedule), 1))
        return sampler(self.torch, self.stream, lambda: self.run(schedule), self.times(single))

    @staticmethod
    def times(single):
        return max(1, min(200, int(3000 / max(single, 1))))

    def compiled(self):
        """The function by torch.compile; None: this machine has no compiler for torch."""
        try:
            self.torch._dynamo.reset()  # otherwise it stops compiling after eight programs
            compiled = self.torch.compile(self.function)
            compiled(*self.ins)
            return compiled
        except Exception as why:
            print(f"note: torch.compile of {self.row.name}: {str(why).splitlines()[0]}", file=sys.stderr)
            return None

    def peers(self, eager):
        peers = {"torch": lambda: self.function(*self.ins)}
        compiled = None if eager else self.compiled()
        if compiled:
            peers["torch.compile"] = lambda: compiled(*self.ins)
        single = once(self.torch, graph(self.torch, self.stream, peers["torch"], 1))
        return {n: sampler(self.torch, self.stream, p, self.times(single)) for n, p in peers.items()}


def sample(samplers):
    """Medians, and a function for the median ratio of pairs."""
    samples = {n: [] for n in samplers}
    for _ in range(17):
        for n, one in samplers.items():
            samples[n].append(one())
    median = {n: statistics.median(s[2:]) for n, s in samples.items()}
    return median, lambda a, b: statistics.median(p / o for p, o in zip(samples[a][2:], samples[b][2:]))


def time_one(torch, library, row, o):
    """The line of the table, and the ratios: to the best peer, and of the chosen to the tuned Schedule."""
    timed = Timed(torch, library, o.device, row)
    samplers = {"ours": timed.ours()}
    found = tune(o.build, row, o.device, o.tuned) if o.tuned else None
    if found:
        samplers["tuned"] = timed.ours(found["schedule"].encode())
    others = variants(o.variants, row)
    for name, text in others.items():
        try:
            samplers[name] = timed.ours(text)
        except RuntimeError as why:
            print(f"note: {row.name}, {name}: {str(why).splitlines()[0]}", file=sys.stderr)
    peers = timed.peers(o.eager)
    samplers.update(peers)
    median, ratio = sample(samplers)
    best = min(peers, key=lambda n: median[n])
    line = f"| {row.name} | {median['ours']:.2f} | {best} {median[best]:.2f} | {ratio(best, 'ours'):.2f} |"
    for name in others:
        if name in median:
            line += f"\n|   {name} | {median[name]:.2f} | {best} {median[best]:.2f} | {ratio(best, name):.2f} |"
    if found:
        near = next(p["at"] for p in found["curve"] if p["us"] * 0.95 <= found["us"])
        line += (f" {median['tuned']:.2f} | {ratio(best, 'tuned'):.2f} | {ratio('tuned', 'ours'):.2f} | {near:.1f} |"
                 f" {found['trials'] / found['seconds']:.0f} |")
    return line, ratio(best, "ours"), ratio("tuned", "ours") if found else None


def mean(list_):
    return math.exp(sum(math.log(x) for x in list_) / len(list_))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="", help="rows whose names contain one of these")
    parser.add_argument("--group", default="", help="rows of these groups: gemm, odd, tc, layers, rows, programs")
    parser.add_argument("--tuned", type=float, default=0, metavar="SECONDS", help="tune each row, too")
    parser.add_argument("--variants", metavar="DIR", help="further Schedules")
    parser.add_argument("--eager", action="store_true", help="leave torch.compile out")
    parser.add_argument("--check", action="store_true", help="compare on the emulator; needs no GPU")
    o = parser.parse_args()
    only, groups = ([x for x in list_.split(",") if x] for list_ in (o.only, o.group))
    rows = [r for r in PROGRAMS if (not only or any(x in r.name for x in only)) and
            (not groups or r.group in groups)]
    library = Library(o.build)
    if o.check:
        return 1 if check(library, rows) else 0
    try:
        import torch
    except ImportError:
        print("bench/gpu.py: SKIPPED: there is no torch to compare with (--check needs none)")
        return 77
    if not torch.cuda.is_available():
        print("bench/gpu.py: SKIPPED: torch sees no GPU (--check needs none)")
        return 77
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}\n")
    print("| kernel | ours us | best peer us | ratio |" +
          (" tuned us | ratio | tuned/ours | 95 % after s | candidates/s |" if o.tuned else ""))
    print("|---|---|---|---|" + ("---|---|---|---|---|" if o.tuned else ""))
    ratios, chosen = {}, []
    for row in rows:
        try:
            line, ratio, tuned = time_one(torch, library, row, o)
        except RuntimeError as why:
            print(f"| {row.name} | failed: {str(why).splitlines()[0]} | | |", flush=True)
            continue
        print(line, flush=True)
        ratios.setdefault(row.group, []).append(ratio)
        chosen += [tuned] if tuned else []
    for group, list_ in ratios.items():
        print(f"geometric mean of {len(list_)} in group {group}: {mean(list_):.2f}, least {min(list_):.2f}")
    if chosen:
        print(f"geometric mean of chosen against tuned: {mean(chosen):.2f}, least {min(chosen):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
