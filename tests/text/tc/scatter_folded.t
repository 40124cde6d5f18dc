A scatter initialises its whole tensor, also if sizes fold its subscript to a constant.
--- f.tc
def steps(int(N) B, float(T,N) A, int K) -> (float(M) O, S) {
    for t in 0:T {
        O((B(i) + t) % K) +=! A(t,i)
        S(t) max=! O(m)
    }
}
def again(int(N) B, int(N) A, int K) -> (int(M) O) {
    O(i) = 7
    O(B(i) * K) *=! A(i)
}
$ loopwright show f.tc --def steps --size N=3,T=2,M=4,K=1
program steps {
    input B: i32[3]
    input A: f32[2, 3]
    output O: f32[4]
    output S: f32[2]

    for t in 0:2 {
        O.init: for O.0 in 0:4
            O[O.0] +=! 0.0

        O: for i in 0:3
            O[0] += A[t, i]

        S: for m in 0:4
            S[t] max=! O[m]
    }
}
$ loopwright run f.tc --def again --size N=0,M=4,K=0 --backend interp --db none | tail -1
           [1, 1, 1, 1]
$ loopwright run f.tc --def again --size N=0,M=4,K=0 --db none | tail -1
           [1, 1, 1, 1]
