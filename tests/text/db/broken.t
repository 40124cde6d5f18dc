# A database that cannot be used is one warning and never a failure, but for `db` itself.
--- add.tc
def add(float(N) A, float(N) B) -> (C) {
    C(i) = A(i) + B(i)
}
--- not.db
This is a text of its own right and no database, however long one makes it. This is a text of its own right and no database.
$ loopwright run add.tc --size N=4 --db not.db --json | grep -o '"ok": [a-z]*\|"text": "[^"]*"'
"text": "no tuning database: 'not.db' is not a database"
"ok": true
$ loopwright run add.tc --size N=4 --db not.db > /dev/null
--- stderr
warning: no tuning database: 'not.db' is not a database
$ LW_DB=not.db loopwright compile add.tc --size N=4 --emit c -o add.c
--- stderr
warning: no tuning database: 'not.db' is not a database
$ loopwright db list --db not.db
--- stderr
error: tuning database: 'not.db' is not a database
--- exit 1
$ loopwright db verify --db not.db
--- stderr
error: tuning database: 'not.db' is not a database
--- exit 1
$ mkdir folder.db; loopwright show add.tc --size N=4 --stage tree --db folder.db | head -1
for i in 4 vector
--- stderr
warning: no tuning database: 'folder.db' is not a file
$ loopwright run add.tc --size N=4 --db nowhere/at/all.db > /dev/null; ls nowhere
--- stderr
warning: no tuning database: 'nowhere/at/all.db' is in a folder that does not exist
ls: cannot access 'nowhere': No such file or directory
--- exit 2
