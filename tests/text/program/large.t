# What is allowed compiles: deep expressions, and a Program whose text is longer than one may write.
$ (printf 'def f(int(N) A) -> (Z) { Z(i) = '; for k in $(seq 250); do printf -- '-'; done; echo 'A(i) }') > deep.tc; for b in interp jit; do loopwright run deep.tc --size N=5 --backend $b | tail -1; done
           [3, -3, -3, -4, 4]
           [3, -3, -3, -4, 4]
$ (printf 'def f(int(N) A) -> (Z'; for z in $(seq 28); do printf ', Z%d' $z; done; echo ') { Z(i) = A(i)'; for z in $(seq 28); do printf 'Z%d(i) = x12 where x0 = A(i)' $z; for k in $(seq 12); do printf ', x%d = x%d*3 - x%d' $k $((k - 1)) $((k - 1)); done; echo; done; echo '}') > large.tc; loopwright show large.tc --size N=5 | wc -c; for b in interp jit; do loopwright run large.tc --size N=5 --backend $b | tail -1; done
1263177
           [12288, -12288, -12288, -16384, 16384]
           [12288, -12288, -12288, -16384, 16384]
