# Any number of statements may stand behind a sum: the 40th counts like the first.
--- neighbour.tc
def neighbour(float(M,N) A) -> (O) {
 S(i) +=! A(i,j)
 T(i) = S(i) * 2
 O(i) = S(i) + (i > 0 ? T(i-1) : T(i))
}
--- neighbour.lws
S: i/4 j i
T:
    after S
O:
    after S
$ (echo 'def f(int(N,M) A) -> (Z) { Z(i) +=! A(i,j)'; for k in $(seq 40); do echo 'Z(i) = Z(i) + A(i,0)'; done; echo '}') > f.tc; for b in interp tree jit; do loopwright run f.tc --size N=5,M=3 --backend $b | tail -1; done
           [117, -159, 41, -1, 78]
           [117, -159, 41, -1, 78]
           [117, -159, 41, -1, 78]
$ loopwright run neighbour.tc --size M=10,N=3 --schedule neighbour.lws
--- stderr
neighbour.lws:4:1: error: 'O' cannot run as a post-operation of 'S': a statement between them has other elements of a tensor in each iteration
  O:
  ^
--- exit 1
$ loopwright run neighbour.tc --size M=70,N=3 --check | grep check
  check    right: bit for bit, against the interpreter
