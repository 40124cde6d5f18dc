# Any number of statements may stand behind a sum: the 40th counts like the first.
$ (echo 'def f(int(N,M) A) -> (Z) { Z(i) +=! A(i,j)'; for k in $(seq 40); do echo 'Z(i) = Z(i) + A(i,0)'; done; echo '}') > f.tc; for b in interp tree jit; do loopwright run f.tc --size N=5,M=3 --backend $b | tail -1; done
           [117, -159, 41, -1, 78]
           [117, -159, 41, -1, 78]
           [117, -159, 41, -1, 78]
