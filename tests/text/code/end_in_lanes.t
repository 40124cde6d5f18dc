# The end of a vector loop inside a skewed tile is known at run time only: its lanes are masked there.
--- tiles.lws
U.1: t/8 i/4 t/2 j/8 t:u i:u j:v
    skew i by t
    skew j by 16*t
$ loopwright show @/examples/tc/heat2d.tc --size M=40,N=101,T=8 --schedule tiles.lws --isa avx512 --threads 1 --stage report | sed -n '/declined/,$p'
  declined  nothing
$ loopwright show @/examples/tc/heat2d.tc --size M=40,N=101,T=8 --schedule tiles.lws --isa avx2 --threads 1 --stage report | sed -n '/declined/,$p'
  declined  nothing
$ loopwright run @/examples/tc/heat2d.tc --size M=40,N=101,T=8 --schedule tiles.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat2d.tc --size M=40,N=101,T=8 --schedule tiles.lws --isa avx2 --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat2d.tc --size M=40,N=103,T=9 --schedule tiles.lws --check | grep check
  check    right: bit for bit, against the interpreter
