package suite

import (
	"github.com/gokiln/kiln/ops/attention/attentiontest"
	"github.com/gokiln/kiln/ops/conv/convtest"
	"github.com/gokiln/kiln/ops/elementwise/elementwisetest"
	"github.com/gokiln/kiln/ops/fourier/fouriertest"
	"github.com/gokiln/kiln/ops/index/indextest"
	"github.com/gokiln/kiln/ops/linalg/linalgtest"
	"github.com/gokiln/kiln/ops/matmul/matmultest"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/random/randomtest"
	"github.com/gokiln/kiln/ops/rows/rowstest"
	"github.com/gokiln/kiln/ops/scatter/scattertest"
	"github.com/gokiln/kiln/ops/sort/sorttest"
)

// Families are all families of operations, basic ones first. A new family is a package below ops,
// with its kernels in a folder of it and its tests in another, and a row here. Others go by the
// folders. If it imports other families, internal/kilnvet/arrows.go has a row that says which.
var Families = []opstest.Family{
	{Name: "elementwise", Groups: elementwisetest.Groups},
	{Name: "rows", Groups: rowstest.Groups},
	{Name: "index", Groups: indextest.Groups},
	{Name: "matmul", Groups: matmultest.Groups},
	{Name: "sort", Groups: sorttest.Groups},
	{Name: "conv", Groups: convtest.Groups},
	{Name: "scatter", Groups: scattertest.Groups},
	{Name: "linalg", Groups: linalgtest.Groups},
	{Name: "fourier", Groups: fouriertest.Groups},
	{Name: "random", Groups: randomtest.Groups},
	{Name: "attention", Groups: attentiontest.Groups},
}

// ofAll are the tests of operations of several families.
var ofAll = []opstest.Group{{Name: "Sums", Run: sums}}

// groups returns the tests of all families of which keep is true.
func groups(keep func(opstest.Group) bool) (list []opstest.Group) {
	for _, f := range Families {
		for _, g := range f.Groups {
			if keep(g) {
				list = append(list, g)
			}
		}
	}
	return list
}
