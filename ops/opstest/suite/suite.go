package suite

import (
	"testing"

	"github.com/gokiln/kiln/ops/conv/convtest"
	"github.com/gokiln/kiln/ops/dtype"
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
	"github.com/gokiln/kiln/runtime"
)

// families are the cases of every family of operations.
var families = []opstest.Family{
	{Name: "Elementwise", Run: elementwisetest.Elementwise},
	{Name: "Move", Run: elementwisetest.Move},
	{Name: "Many", Run: elementwisetest.Many},
	{Name: "Sort", Run: sorttest.Sort},
	{Name: "Scan", Run: rowstest.Scan},
	{Name: "RowNorm", Run: rowstest.RowNorm},
	{Name: "Index", Run: indextest.Index},
	{Name: "Search", Run: indextest.Search},
	{Name: "Narrow", Run: scattertest.Narrow},
	{Name: "Sums", Run: sums},
	{Name: "Map", Run: elementwisetest.Map},
	{Name: "Matmul", Run: matmultest.Matmul},
	{Name: "Grouped", Run: matmultest.Grouped},
	{Name: "Scaled", Run: matmultest.Scaled},
	{Name: "Conv", Run: convtest.Conv},
	{Name: "Linear", Run: linalgtest.Linalg},
	{Name: "Fourier", Run: fouriertest.Fourier},
	{Name: "Random", Run: randomtest.Random},
	{Name: "Reduce", Run: rowstest.Reduce},
}

// Run tests all operations on a device, or a share of the parts that belong to an operation, a type
// and a layout, with all types but those that the device does not compute with: devices on which
// compilers take long share the work. Errors are tested on each.
func Run(t *testing.T, dev *runtime.Device, share opstest.Share, without ...dtype.DType) {
	opstest.Run(t, dev, families, share, without...)
}
