# A page about one program, and the JSON that it is made of.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
$ loopwright explain mm.tc --size M=16,N=16,K=16 -o mm.html
mm.html
$ grep -cE 'src=|href="http' mm.html; grep -oE '"(lines|resources|decisions|asm|roof)": [{["]' mm.html
0
"lines": [
"asm": "
"lines": [
"lines": [
"roof": {
"resources": [
"decisions": [
$ grep -oE '"name": "kind\(C.n.[0-9]\)", "value": "VECTOR"' mm.html
"name": "kind(C.n.{{[0-9]}})", "value": "VECTOR"
$ loopwright explain mm.tc --size M=16,N=16,K=16 --threads 2 --db none -o mm.html && grep -c '"threads": ' mm.html
mm.html
1
$ loopwright explain mm.tc --size M=16,N=16
--- stderr
error: 'mm' needs a value for K
note: give values by name; on the command line, for example, --size K=8
--- exit 1
$ loopwright explain @/examples/stripe/matmul.stripe --db none -o flat.html && grep -oE '"stripe": [^}]*}' flat.html
flat.html
"stripe": {"lifted": true, "reason": "lifted", "text": "", "line": 0}
