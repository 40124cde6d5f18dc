# Maxima of many elements: small integers would all give the same, so floats are compared, bit for bit.
--- m.tc
def m(float(N,M) A) -> (O) { O(i) max=! A(i,k) }
$ loopwright run m.tc --size N=16,M=3000 --check | grep check
  check    right: bit for bit, against the interpreter
