# Two temporaries of an iteration stay in registers in all four copies of the loop; only the result is stored.
--- chain.tc
def chain(float(N) A) -> (O) {
    t(i) = A(i) * A(i) + 1.0
    u(i) = t(i) * A(i) + t(i)
    O(i) = u(i) * t(i) + u(i)
}
$ loopwright show chain.tc --size N=4096 --isa avx512 --stage asm | grep -c 'vmovups zmmword ptr'
4
$ loopwright run chain.tc --size N=4099 --check | grep check
  check    right: {{.*}}
