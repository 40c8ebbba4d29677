package matmultest

import "github.com/gokiln/kiln/ops/opstest"

// Groups are the tests of the family.
var Groups = []opstest.Group{
	{Name: "Matmul", Run: Matmul},
	{Name: "Grouped", Run: Grouped},
	{Name: "Scaled", Run: Scaled},
}
