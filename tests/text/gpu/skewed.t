# Skewed loops: several instances with different conditions add to one element; elements that only some iterations have are not kept in registers.
--- wide.tc
def f(float(C,N) I, float(C,F,K) W) -> (float(F,2*N+K) O) {
    O(f, 2*x + k) +=! I(c,x) * W(c,f,k)
}
--- halves.lws
O: f x k c/2:thread.x c
    skew k by f
--- warps.lws
O: f x k c/2:warp c
    skew k by f
--- threads.lws
O: f x/3 x k c:thread.z
    skew k by 2*f
--- slide.tc
def f(float(F,N) I, float(K) V) -> (float(F,N+K) O) { O(f, x + k) +=! I(f,x) * V(k) }
--- slide.lws
O: f x k/4 k
    skew k by x
--- meet.lws
O: f/4 f x:thread.x k/4 k:u
    skew k by x
--- apart.lws
O: k/4 k:thread.z f x%5 x:thread.x
    skew k by x
--- sums.tc
def f(float(C,N) I, float(K) V) -> (float(2*N+K) O) { O(2*x + k) +=! I(c,x) * V(k) }
--- sums.lws
O: c:thread.y k x
    skew k by 2*x
--- gather.lwp
program gather {
    input I: i32[5]
    input T: f32[5, 3]
    output O: f32[5, 3]

    O: for i in 0:5, j in 0:1
        O[i, j] = T[I[i], j]
}
--- gather.lws
O: j%4:p i/4 i%3
    skew j by 3*i
$ loopwright run wide.tc --size C=3,N=17,F=5,K=4 --schedule halves.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run wide.tc --size C=3,N=17,F=5,K=4 --schedule warps.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run wide.tc --size C=3,N=17,F=5,K=4 --schedule threads.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run slide.tc --size F=5,N=7,K=4 --schedule slide.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run gather.lwp --schedule gather.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run slide.tc --size F=5,N=7,K=4 --schedule meet.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run slide.tc --size F=5,N=7,K=4 --schedule apart.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run sums.tc --size C=6,N=9,K=5 --schedule sums.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
