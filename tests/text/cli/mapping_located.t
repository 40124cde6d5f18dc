# A Schedule file that begins with `mapping` is TC's options: an error in them says where.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- typo.lws
mapping naive.tile(8,8).unrol(4)
$ loopwright run mm.tc --size M=8,N=8,K=8 --schedule typo.lws
--- stderr
typo.lws:1:25: error: there is no mapping option or preset 'unrol'; a mapping is a preset and options, joined by dots: naive.tile(8,8).unroll(4)
  mapping naive.tile(8,8).unrol(4)
                          ^~~~~
note: did you mean 'unroll'?
--- exit 1
