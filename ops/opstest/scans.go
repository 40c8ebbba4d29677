package opstest

import (
	"math/rand/v2"
	"testing"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/runtime"
)

// RunScans tests scans.
func RunScans(t *testing.T, dev *runtime.Device) {
	scan(t, &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))})
}

// RunTurns tests a scan of a row, one of columns and a sort whose blocks take numbers in the
// order in which they begin, as they do on devices whose blocks may wait for each other.
func RunTurns(t *testing.T, dev *runtime.Device) {
	b := &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))}
	t.Run("Row", func(t *testing.T) {
		b.scanTo(t, rows.CumSum, scans["cumsum"], dtype.F32, fold{layout.Shape{33001}, []int{0}}, "dense", "dense")
	})
	t.Run("Columns", func(t *testing.T) {
		b.scanTo(t, rows.CumSum, scans["cumsum"], dtype.F32, fold{layout.Shape{3000, 16}, []int{0}}, "dense", "dense")
	})
	t.Run("Sort", func(t *testing.T) { b.sort(t, dtype.F32, fold{layout.Shape{9000}, []int{0}}, 0, false, 0) })
}
