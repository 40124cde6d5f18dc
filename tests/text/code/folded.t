# A sum in lanes is folded in front of a loop that only reads it, not in every turn of that.
--- stats.tc
def stats(float(N) x) -> (m, v) {
    m() +=! x(i)
    v() +=! (x(i) - m()) * (x(i) - m())
}
--- lanes.lws
m: i:v
v: i:v
$ loopwright show stats.tc --size N=8192 --schedule lanes.lws --isa avx512 --stage asm | grep -o '^L[24]:\|vextractf64x4\|jl L[24]'
L2:
jl L2
vextractf64x4
L4:
jl L4
vextractf64x4
