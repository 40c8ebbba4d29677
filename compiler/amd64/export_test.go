package amd64

import "github.com/gokiln/kiln/compiler/amd64/regalloc"

// CheckAllocations has every allocation of registers proved.
func CheckAllocations() { allocate = regalloc.RunChecked }
