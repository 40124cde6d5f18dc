# A vector loop that runs once, inside another: lanes are those of the outer one.
--- f.tc
def f(int(N) A) -> (B) { B(i) = A(i) + 1 }
--- f.lws
B: i:v i/2:v
$ for b in interp jit; do loopwright run f.tc --size N=33 --seed 3 --backend $b | grep -o 'checksum.*'; done; loopwright run f.tc --size N=33 --seed 3 --schedule f.lws | grep -o 'checksum.*'
checksum 03b127fbc36c302d
checksum 03b127fbc36c302d
checksum 03b127fbc36c302d
--- stderr
f.lws:1:8: warning: the loop 'i/2' has no effect: it runs once in 'i', which is outside of it
  B: i:v i/2:v
         ^
