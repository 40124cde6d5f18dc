# A Schedule, or TC's mapping options, as decisions; a random implementation as a Schedule.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/24 k/7 n m k:u
    copy A at k/7 layout (k m)
--- spread.lws
C: m%4 n k m
--- odd.lws
C: m/32 n k m%4 m
$ loopwright space mm.tc --size M=96,N=64,K=64 --schedule mm.lws --samples 2
space            {{[0-9]+}} objects, {{[0-9]+}} variables, {{[0-9]+}} bytes a candidate
implementations  1 ± 0 (Knuth, 2 descents), 1 ± 0 (Chen, 2 samples)
dead ends        0.0 % ± 0.0 of random descents
bound            {{.*}}
open             0 decisions
$ loopwright space mm.tc --size M=96,N=64,K=64 --schedule mm.lws --complete
C: m/24 k/7 n m k:u
    copy A at k/7 layout (k m)
$ loopwright space mm.tc --size M=96,N=64,K=64 --mapping 'tile(32,16).unroll(8)' --complete
C: m/32 n/16 k m n
    unroll 8
$ loopwright space mm.tc --size M=16,N=16,K=16 --mapping 'unroll(4096)' --complete
C: m:u n:u k:u
    unroll 4096
$ loopwright space mm.tc --size M=96,N=64,K=64 --mapping naive --complete
C: m/32 n/32 k/32 k m n
$ loopwright space mm.tc --size M=96,N=64,K=64 --mapping 'tile(x)' --complete
--- stderr
error: the mapping option 'tile' takes up to 8 sizes, 0 or more, not 'x'
--- exit 1
$ loopwright space mm.tc --size M=96,N=64,K=64 --schedule spread.lws --complete
C: m%4 n k m
$ loopwright space mm.tc --size M=96,N=64,K=64 --schedule odd.lws --samples 2 | head -1
space            {{[0-9]+}} objects, {{[0-9]+}} variables, {{[0-9]+}} bytes a candidate
--- stderr
odd.lws:1:1: warning: 'C': a split cannot be expressed in this space and is left open
  C: m/32 n k m%4 m
  ^
$ loopwright space mm.tc --size M=96,N=64,K=64 --set 'size(C.m.1) = 1; size(C.m.2) = 4'
--- stderr
error: no implementation is left: these decisions contradict each other or the program
note: size(C.m.2) = 4 cannot be
note: size(C.m.2) loses 2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|20|24|32|48|64: src/space/cpu.space:{{[0-9]+}}, size($d) > "1" || size($e) == "1" with $d = C.m.1, $e = C.m.2
--- exit 1
$ loopwright space mm.tc --size M=96,N=64,K=64 --set 'size(C.m.9) = 1'
--- stderr
<set>:1:6: error: unknown object 'C.m.9'
  size(C.m.9) = 1
       ^~~~~
note: did you mean 'C.m.1'?
--- exit 1
$ loopwright space mm.tc --size M=96,N=64,K=64 --samples many
--- stderr
loopwright space: --samples takes a whole number above 0, not 'many'
usage: loopwright space FILE [options]; --help explains them
--- exit 2
$ loopwright space mm.tc --size M=96,N=64,K=64 --set 'kind(C.m.0) = VECTOR; kind(C.n.0) = VECTOR'
--- stderr
error: no implementation is left: these decisions contradict each other or the program
note: kind(C.n.0) = VECTOR cannot be
note: kind(C.n.0) loses VECTOR: src/space/cpu.space:{{[0-9]+}}, kind($d) is not VECTOR || order($d, $e) is INNER with $d = C.n.0, $e = C.m.0
--- exit 1
$ loopwright space mm.tc --size M=96,N=64,K=64 --set 'knd(C.m.0) = VECTOR'
--- stderr
<set>:1:1: error: unknown choice 'knd'
  knd(C.m.0) = VECTOR
  ^~~
note: did you mean 'kind'?
--- exit 1
$ loopwright space mm.tc --size M=96,N=64,K=64 --set 'kind(C.m.0) = VECTR'
--- stderr
<set>:1:15: error: 'VECTR' is not a value of 'kind'
  kind(C.m.0) = VECTR
                ^~~~~
note: did you mean 'VECTOR'?
--- exit 1
$ loopwright space mm.tc --size M=96,N=64,K=64 --set 'kind(C) = VECTOR'
--- stderr
<set>:1:1: error: there is no decision 'kind(C)'
  kind(C) = VECTOR
  ^~~~~~~
note: there are 'kind(C.m.0)', 'kind(C.m.1)', 'kind(C.m.2)', 'kind(C.n.0)', 'kind(C.n.1)', 'kind(C.n.2)', 'kind(C.k.0)' and 'kind(C.k.1)'
--- exit 1
$ loopwright space mm.tc --size M=5,N=64,K=64 --set 'size(C.m.1) = 77'
--- stderr
<set>:1:15: error: '77' is not a value of 'size'
  size(C.m.1) = 77
                ^~
note: there are 1|2|3|4
--- exit 1
