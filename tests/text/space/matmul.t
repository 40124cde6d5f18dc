# What is open, what follows from a decision, and why.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ loopwright space mm.tc --size M=8,N=3,K=2 --threads 1 --samples 20
space            {{[0-9]+}} objects, {{[0-9]+}} variables, {{[0-9]+}} bytes a candidate
implementations  1e+07 ± 2e+07 (Knuth, 20 descents), 1e+07 ± 8e+04 (Chen, 2 samples)
dead ends        0.0 % ± 0.0 of random descents
bound            {{.*}}
open             16 decisions, which may open more
  pack(C.A) in NO|YES
  pack(C.B) in NO|YES
  kind(C.m.0) in SERIAL|VECTOR
  kind(C.m.1) in SERIAL|UNROLL|VECTOR
  kind(C.n.0) in SERIAL|UNROLL|VECTOR
  kind(C.k.0) in SERIAL|UNROLL|VECTOR
  size(C.m.1) in 1|2|3|4|5|6|7
  split(C.m.0) in BLOCK|INTERLEAVE
  order(C.n.0, C.m.0) in INNER|OUTER
  order(C.n.0, C.m.1) in INNER|OUTER
  order(C.k.0, C.m.0) in INNER|OUTER
  order(C.k.0, C.m.1) in INNER|OUTER
  order(C.k.0, C.n.0) in INNER|OUTER
  prefetch(C.A.read) in 0|2|8
  prefetch(C.B.read) in 0|2|8
  accumulators(C) in 0|1|2|4|8
$ loopwright space mm.tc --size M=8,N=3,K=2 --threads 1 --samples 20 --set 'kind(C.n.0) = VECTOR; pack(C.A) = NO; pack(C.B) = NO'
space            {{[0-9]+}} objects, {{[0-9]+}} variables, {{[0-9]+}} bytes a candidate
  decided  pack(C.A) = NO
  decided  pack(C.B) = NO
  follows  kind(C.m.0) = SERIAL
  follows  kind(C.m.1) = SERIAL|UNROLL
  decided  kind(C.n.0) = VECTOR
  follows  kind(C.k.0) = SERIAL|UNROLL
  follows  order(C.n.0, C.m.0) = INNER
  follows  order(C.k.0, C.n.0) = OUTER
implementations  4.4e+03 ± 9e+02 (Knuth, 20 descents), 4.5e+03 ± 0 (Chen, 2 samples)
dead ends        0.0 % ± 0.0 of random descents
bound            {{.*}}
open             10 decisions, which may open more
  kind(C.m.1) in SERIAL|UNROLL
  kind(C.k.0) in SERIAL|UNROLL
  size(C.m.1) in 1|2|3|4|5|6|7
  split(C.m.0) in BLOCK|INTERLEAVE
  order(C.n.0, C.m.1) in INNER|OUTER
  order(C.k.0, C.m.0) in INNER|OUTER
  order(C.k.0, C.m.1) in INNER|OUTER
  prefetch(C.A.read) in 0|2|8
  prefetch(C.B.read) in 0|2|8
  accumulators(C) in 0|1|2|4|8
$ loopwright space mm.tc --size M=8,N=3,K=2 --threads 1 --set 'order(C.m.0, C.n.0) = OUTER; order(C.n.0, C.k.0) = OUTER' --explain --samples 2 | grep 'order(C.k.0, C.m.0)'
  order(C.k.0, C.m.0) loses OUTER: src/space/cpu.space:{{[0-9]+}}, order($a, $c) is INNER || order($a, $b) is not INNER || order($b, $c) is not INNER for C.k.0, C.n.0, C.m.0
$ loopwright space mm.tc --size M=8,N=3,K=2 --threads 1 --set 'size(C.m.0) = 4'
--- stderr
<set>:1:1: error: there is no decision 'size(C.m.0)'
  size(C.m.0) = 4
  ^~~~~~~~~~~
note: did you mean 'size(C.m.1)'?
--- exit 1
