# Loops of steps that are divided, moved or skewed: accepted where steps stay in order, refused with both
# iterations elsewhere. A temporary keeps as many steps as are alive.
--- both.lws
U.1: t/6 i/4 j/24 t/2 t j/8 i:u j:v
    skew i by t
    skew j by 8*t
--- tile.lws
U.1: t/4 i/8 t/2 t i
    skew i by t
--- early.lws
U.1: t/4 i/8 t i
--- front.lws
U.1: i t:p
    skew i by t
--- wave.lws
L.2: j i:p
    skew j by i
--- scan.lws
Y.1: i t
--- twice.lws
U.1: i t
    skew i by t
    skew i by 2*t
--- none.lwp
program none {
    input A: f32[7, 0]
    output R: f32[7, 33]
    temp t: f32[7, 0, 33]

    t: for b in 0:7, l in 0:0, x in 0:33
        t[b, l, x] = A[b, l]

    R: for b in 0:7, x in 0:33
        R[b, x] = 2.0
}
--- none.lws
t:
    skew l by b
--- far.lwp
program far {
    input X: f32[22]
    output O: f32[1, 2]

    O: for h in 0:2, g in 0:1
        O[g, h] = select(index(2305843009213693952*g - 258*h) >= i64(0) && index(2305843009213693952*g - 258*h) < i64(22), X[2305843009213693952*g - 258*h], 7.0)
}
--- far.lws
O: h/2 h g:v
    skew g by 2*h
--- outer.lwp
program outer {
    input X: f32[7, 3]
    output E: f32[7, 3]

    for i in 1:7, j in 1:3 {
        E.2:
            E[i, j] = X[i, j]
    }
}
--- outer.lws
E.2:
    copy X at i
--- inner.lws
E.2:
    copy X at j
--- number.lws
U.1: i t
    skew i by 2
--- self.lws
U.1: i t
    skew i by i
--- sum.tc
def sum(float(T,N) X) -> (S) {
    H(0) = 0.0
    for t in 0:T { H(t+1) +=! H(t) * X(t,k) }
    S = H(T)
}
--- sum.lws
H.1: k t
$ loopwright show @/examples/tc/heat1d.tc --size N=20,T=8 --stage tree --schedule tile.lws | head -8
U f32[2, 20] 160 B
for i in 20
  U[0, i] = A[i]
for t in 2
  for i in 4 where 4*t - 8*i + 22 >= 0
    for t.1 in 2 where 4*t + 2*t.1 - 8*i + 20 >= 0
      for t.2 in 2 where 4*t + 2*t.1 + t.2 - 8*i + 19 >= 0
        for i.1 in 8 where 8*i + i.1 - 4*t - 2*t.1 - t.2 >= 0 and 4*t + 2*t.1 + t.2 - 8*i - i.1 + 19 >= 0
$ loopwright show @/examples/tc/heat1d.tc --size N=20,T=8 --stage schedule --schedule tile.lws
U.1: t/4 i/8 t/2 t i
    skew i by t
$ for b in tree c jit; do loopwright run @/examples/tc/heat1d.tc --size N=50,T=9 --backend $b --schedule tile.lws | grep out; done; loopwright run @/examples/tc/heat1d.tc --size N=50,T=9 --schedule tile.lws --check | grep check
  out      f32(50) B: checksum 64adfbfe4bd904a0
  out      f32(50) B: checksum 64adfbfe4bd904a0
  out      f32(50) B: checksum 64adfbfe4bd904a0
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat1d.tc --size N=20,T=8 --schedule early.lws
--- stderr
early.lws:1:10: error: the loop 'i/8' would run 'U.1' at t = 1, i = 0 before 'U.1' at t = 0, i = 1: both access 'U'
  U.1: t/4 i/8 t i
           ^
note: 'skew i by t' keeps the order along this loop
--- exit 1
$ loopwright run @/examples/tc/heat1d.tc --size N=20,T=8 --schedule front.lws
--- stderr
front.lws:1:8: error: iterations of the loop 't' cannot run at the same time: 'U.1' at t = 0, i = 1 comes before 'U.1' at t = 1, i = 0, both access 'U'
  U.1: i t:p
         ^
--- exit 1
$ loopwright run @/examples/tc/lcs.tc --size M=30,N=40 --schedule wave.lws --threads 2 --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/cumsum.tc --size T=30,N=40 --schedule scan.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat1d.tc --size N=20,T=8 --schedule twice.lws
--- stderr
twice.lws:3:10: error: 'i' cannot be skewed by 'i': it is skewed twice
      skew i by 2*t
           ^
--- exit 1
$ loopwright run @/examples/tc/heat1d.tc --size N=20,T=8 --mapping 'tile(4,8)' --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat1d.tc --size N=20,T=8 --schedule self.lws
--- stderr
self.lws:2:10: error: 'i' cannot be skewed by 'i': that one is skewed itself
      skew i by i
           ^
--- exit 1
$ loopwright run sum.tc --size N=20,T=8 --schedule sum.lws
--- stderr
sum.lws:1:1: error: the loop over 't' is not around all of 'H.1', because a loop of its reduction is
  H.1: k t
  ^~~
--- exit 1
$ loopwright run @/examples/tc/heat1d.tc --size N=9000,T=12 --schedule @/examples/schedules/heat1d.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat2d.tc --size M=50,N=70,T=25 --schedule @/examples/schedules/heat2d.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat2d.tc --size M=33,N=200,T=22 --schedule @/examples/schedules/heat2d.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat2d.tc --size M=37,N=72,T=13 --schedule both.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/heat1d.tc --size N=20,T=8 --schedule number.lws
--- stderr
number.lws:2:16: error: expected '*' and an iterator, found the end of the line
      skew i by 2
                 ^
--- exit 1
$ loopwright show far.lwp --schedule far.lws --stage tree
--- stderr
error: the range of an index expression overflows 56 bits
--- exit 1
$ loopwright run outer.lwp --schedule inner.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run outer.lwp --schedule outer.lws --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run none.lwp --schedule none.lws | tail -2
  out      f32(7, 33) R: checksum b1f866b263a0a715
           [2, 2, 2, 2, 2, 2, ...]
