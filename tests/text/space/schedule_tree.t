# Figure 3 of the TC paper: what its scheduler makes of sgemm, (b) and (d); and dependences.
$ loopwright show @/examples/tc/sgemm.tc --size N=1000,M=500,K=700 --stage schedule-tree --mapping naive | sed -n '/(b)/,/(c)/p;/(d)/,$p' | grep -v '^  C.*: 0\|^domain'
# (b) fused
band parallel parallel
  C(i, j) -> (i, j)
  C.1(i, j, k) -> (i, j)
  sequence
    filter C(i, j)
    filter C.1(i, j, k)
      band serial
        C.1(i, j, k) -> (k)

# (c) tiled
# (d) sunk
band parallel parallel
  C(i, j) -> (32*(i/32), 32*(j/32))
  C.1(i, j, k) -> (32*(i/32), 32*(j/32))
  sequence
    filter C(i, j)
      band parallel parallel
        C(i, j) -> (i%32, j%32)
    filter C.1(i, j, k)
      band serial
        C.1(i, j, k) -> (32*(k/32))
        band serial
          C.1(i, j, k) -> (k%32)
          band parallel parallel
            C.1(i, j, k) -> (i%32, j%32)
$ loopwright show @/examples/tc/sgemm.tc --size N=1000,M=500,K=700 --stage schedule --mapping naive
C: i/32:p j/32 | i j:v
C.1: i/32:p j/32 k/32 k i j:v
$ loopwright show @/examples/tc/mv.tc --size M=4,K=3 --stage dependences
# memory-based
flow { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
output { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
# value-based
flow { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
output { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
$ loopwright show @/examples/tc/heat1d.tc --size N=100,T=20 --stage dependences | tail -2
flow { U.1[t, i] -> U.1[t' = 1 + t, i'] : 0 <= t <= 18 and 0 <= i <= 99 and i' >= -1 + i and 0 <= i' <= 99 and i' <= 1 + i }
flow { U.1[t = 19, i] -> B[i' = i] : 0 <= i <= 99 }
$ loopwright show @/examples/tc/heat1d.tc --size N=100,T=20 --stage schedule-tree --mapping 'tile(8,16).outerScheduleAllowSkewing(true)' | sed -n '/(c)/,/(d)/p' | grep 'U.1(t, i) ->'
      U.1(t, i) -> (8*(t/8), 16*((t + i)/16))
        U.1(t, i) -> (t%8, (t + i)%16)
$ loopwright show @/examples/tc/heat2d.tc --size M=40,N=50,T=20 --stage schedule --mapping 'tile(8,16,32).outerScheduleAllowSkewing(true)'
U: | i/8:p j/16 i j:v
U.1: | t/8 i/16 j/32 t/2 t i j:v
    skew i by t
    skew j by t
B: i/8:p j/16 i j:v
$ loopwright run @/examples/tc/heat2d.tc --size M=40,N=50,T=20 --mapping 'tile(8,16,32).outerScheduleAllowSkewing(true)' --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat1d.tc --size N=100,T=20 --mapping 'tile(8,16).outerScheduleAllowSkewing(true)' --check | grep check
  check    right: bit for bit, against the interpreter
