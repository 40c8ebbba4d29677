package amd64

import "github.com/gokiln/kiln/compiler/amd64/regalloc"

// allocate is what allocates registers; tests have results checked as well.
var allocate = regalloc.Run
