# Views become subscripts, padding a constraint of the sum; flattening is undone by / and %.
--- views.lwg
graph views
dim H
dim K = 3
dim P
dim A
dim B
dim F
%x = read X f32 [H]
%w = read W f32 [K]
%v = view %x [P, K] where H = P + K - 1, size(P) = size(H) border identity
%vw = mul %v %w
%conv = add %vw [P]
%y = write Y %conv [P]
%m = read M f32 [A, B]
%flat = view %m [F] where F = A*size(B) + B
%out = write O %flat [F]
$ loopwright show views.lwg --stage program
program views(H, A, B) {
    input X: f32[H]
    input W: f32[3]
    input M: f32[A, B]
    output Y: f32[H]
    output O: f32[A*B]

    Y: for p in 0:H, k in 0:3 if p + k - 1 >= 0, H - p - k >= 0
        Y[p] +=! X[p + k - 1]*W[k]

    O: for f in 0:A*B
        O[f] = M[f/B, f%B]
}
$ loopwright check views.lwg
views(f32(H) X, f32(3) W, f32(A, B) M) -> (f32(H) Y, f32(A*B) O)
