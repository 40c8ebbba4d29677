package rowstest

import "github.com/gokiln/kiln/ops/opstest"

// Groups are the tests of the family.
var Groups = []opstest.Group{
	{Name: "Reduce", Run: Reduce, Rows: true},
	{Name: "RowNorm", Run: RowNorm, Rows: true},
	{Name: "NormGrad", Run: NormGrad, Rows: true},
	{Name: "Scan", Run: Scan, Rows: true},
}
