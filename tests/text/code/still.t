# What is the same in every turn of a loop is computed in front of it, here by dividing and rooting.
--- scale.tc
def scale(float(N,D) X, float(N) q) -> (Y) {
    Y(n,d) = X(n,d) / sqrt(q(n) / 3.0)
}
--- rows.lws
Y: n d:v
$ loopwright show scale.tc --size N=8,D=1024 --schedule rows.lws --isa avx512 --stage asm | grep -o 'vsqrt.s\|L1:\|vdiv.s\|jl L1' | uniq -c
      1 vdivss
      1 vsqrtss
      1 L1:
      4 vdivps
      1 jl L1
