package suite

import (
	"testing"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/ops/rows/rowstest"
	"github.com/gokiln/kiln/ops/scatter/scattertest"
	"github.com/gokiln/kiln/ops/sort/sorttest"
	"github.com/gokiln/kiln/runtime"
)

// RunScans tests scans, or a share of their parts.
func RunScans(t *testing.T, dev *runtime.Device, share opstest.Share) {
	opstest.Run(t, dev, []opstest.Group{{Name: "Scan", Run: rowstest.Scan}}, share)
}

// RunTickets tests a scan of a row, one of columns and a sort whose blocks take tickets
// (dynamic block ids), as they do on devices whose blocks may wait for each other.
func RunTickets(t *testing.T, dev *runtime.Device) {
	b := opstest.NewBench(dev)
	t.Run("Row", func(t *testing.T) {
		rowstest.CheckScan(t, b, rows.CumSum, rowstest.Scans["cumsum"], dtype.F32, opstest.ReductionCase{Shape: layout.Shape{33001}, Dims: []int{0}}, "dense", "dense")
	})
	t.Run("Columns", func(t *testing.T) {
		rowstest.CheckScan(t, b, rows.CumSum, rowstest.Scans["cumsum"], dtype.F32, opstest.ReductionCase{Shape: layout.Shape{3000, 16}, Dims: []int{0}}, "dense", "dense")
	})
	t.Run("Sort", func(t *testing.T) {
		sorttest.CheckSort(t, b, dtype.F32, opstest.ReductionCase{Shape: layout.Shape{9000}, Dims: []int{0}}, 0, false, 0)
	})
}

// RunSorts tests sorts alone, or a share of their parts, and such of many tiles.
func RunSorts(t *testing.T, dev *runtime.Device, share opstest.Share) {
	opstest.Run(t, dev, []opstest.Group{{Name: "Sort", Run: sorttest.Sort}}, share)
	t.Run("Sort/Long", func(t *testing.T) { longSorts(t, opstest.NewBench(dev)) })
}

func longSorts(t *testing.T, b *opstest.Bench) {
	for i, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.F64, dtype.U8} {
		if b.Has(d) {
			sorttest.CheckSort(t, b, d, opstest.ReductionCase{Shape: layout.Shape{30001}, Dims: []int{0}}, 0, i%2 == 0, i%2)
			sorttest.CheckSort(t, b, d, opstest.ReductionCase{Shape: layout.Shape{3, 9000}, Dims: []int{1}}, i, i%2 != 0, 5000*(i%2))
		}
	}
	scattertest.LongScatters(t, b)
}
