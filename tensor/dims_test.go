package tensor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// along are the functions and methods that take a dimension, applied to a tensor of three.
var along = map[string]func(x ten, d int) ten{
	"All":               func(x ten, d int) ten { return x.All(d) },
	"AllKeep":           func(x ten, d int) ten { return x.AllKeep(d) },
	"Any":               func(x ten, d int) ten { return x.Any(d) },
	"AnyKeep":           func(x ten, d int) ten { return x.AnyKeep(d) },
	"ArgMax":            func(x ten, d int) ten { return x.ArgMax(d) },
	"ArgMaxKeep":        func(x ten, d int) ten { return x.ArgMaxKeep(d) },
	"ArgMin":            func(x ten, d int) ten { return x.ArgMin(d) },
	"ArgMinKeep":        func(x ten, d int) ten { return x.ArgMinKeep(d) },
	"ArgSort":           func(x ten, d int) ten { return x.ArgSort(d, true) },
	"Cat":               func(x ten, d int) ten { return tensor.Cat(d, x, x) },
	"Chunk":             func(x ten, d int) ten { return x.Chunk(2, d)[0] },
	"CumMax":            ten.CumMax,
	"CumMin":            ten.CumMin,
	"CumProd":           ten.CumProd,
	"CumProdAs":         func(x ten, d int) ten { return x.CumProdAs(tensor.F32, d) },
	"CumSum":            ten.CumSum,
	"CumSumAs":          func(x ten, d int) ten { return x.CumSumAs(tensor.F32, d) },
	"Diagonal":          func(x ten, d int) ten { return x.Diagonal(0, d, 1) },
	"FFT":               func(x ten, d int) ten { return pairs(x).FFT(d) },
	"Flatten":           func(x ten, d int) ten { return x.Flatten(0, d) },
	"Flip":              func(x ten, d int) ten { return x.Flip(d) },
	"Gather":            func(x ten, d int) ten { return x.Gather(x.ArgSort(0, false), d) },
	"GetOn":             func(x ten, d int) ten { return x.GetOn(d, 1) },
	"IFFT":              func(x ten, d int) ten { return pairs(x).IFFT(d) },
	"IRFFT":             func(x ten, d int) ten { return pairs(x).IRFFT(4, d) },
	"IndexAdd":          func(x ten, d int) ten { return x.IndexAdd(triple(x), x, d) },
	"IndexAddSet":       func(x ten, d int) ten { c := x.Copy(); return changed(c, c.IndexAddSet(triple(x), x, d)) },
	"IndexSelect":       func(x ten, d int) ten { return x.IndexSelect(triple(x), d) },
	"LayerNormResidual": func(x ten, d int) ten { return first(x.LayerNormResidual(x, d, nil, nil, 1)) },
	"LayerNorm":         func(x ten, d int) ten { return x.LayerNorm(d, nil, nil, 1) },
	"LogCumSumExp":      ten.LogCumSumExp,
	"LogSoftmax":        ten.LogSoftmax,
	"LogSumExp":         func(x ten, d int) ten { return x.LogSumExp(d) },
	"LogSumExpKeep":     func(x ten, d int) ten { return x.LogSumExpKeep(d) },
	"Max":               func(x ten, d int) ten { return x.Max(d) },
	"MaxKeep":           func(x ten, d int) ten { return x.MaxKeep(d) },
	"MaxWithIndices":    func(x ten, d int) ten { return first(x.MaxWithIndices(d)) },
	"Mean":              func(x ten, d int) ten { return x.Mean(d) },
	"MeanKeep":          func(x ten, d int) ten { return x.MeanKeep(d) },
	"Median":            ten.Median,
	"Min":               func(x ten, d int) ten { return x.Min(d) },
	"MinKeep":           func(x ten, d int) ten { return x.MinKeep(d) },
	"MinWithIndices":    func(x ten, d int) ten { return first(x.MinWithIndices(d)) },
	"Narrow":            func(x ten, d int) ten { return x.Narrow(d, 1, 2) },
	"Norm":              func(x ten, d int) ten { return x.Norm(d) },
	"Pad":               func(x ten, d int) ten { return x.Pad(d, 1, 2, tensor.PadEdge, 0) },
	"Prod":              func(x ten, d int) ten { return x.Prod(d) },
	"ProdAs":            func(x ten, d int) ten { return x.ProdAs(tensor.F32, d) },
	"ProdKeep":          func(x ten, d int) ten { return x.ProdKeep(d) },
	"Quantile":          func(x ten, d int) ten { return x.Quantile(0.3, d) },
	"RFFT":              func(x ten, d int) ten { return x.RFFT(d) },
	"RMSNormResidual":   func(x ten, d int) ten { return first(x.RMSNormResidual(x.Neg().MulScalar(2), d, nil, 1)) },
	"RMSNorm":           func(x ten, d int) ten { return x.RMSNorm(d, nil, 1) },
	"Roll":              func(x ten, d int) ten { return x.Roll(-1, d) },
	"Scatter":           func(x ten, d int) ten { return x.Scatter(x.ArgSort(0, true), x.Neg(), d) },
	"ScatterAdd":        func(x ten, d int) ten { return x.ScatterAdd(x.ArgSort(0, true), x, d) },
	"ScatterAddSet":     func(x ten, d int) ten { c := x.Copy(); return changed(c, c.ScatterAddSet(x.ArgSort(0, true), x, d)) },
	"ScatterReduce":     func(x ten, d int) ten { return x.ScatterReduce(tensor.ScatterProd, x.ArgSort(0, true), x, d, true) },
	"ScatterSet":        func(x ten, d int) ten { c := x.Copy(); return changed(c, c.ScatterSet(x.ArgSort(0, true), x.Neg(), d)) },
	"SliceScatter":      func(x ten, d int) ten { return x.SliceScatter(x.Neg().IndexSelect(triple(x), d), d, 0) },
	"SliceSet":          func(x ten, d int) ten { c := x.Copy(); return changed(c, c.SliceSet(x.Neg(), d, 0)) },
	"Softmax":           ten.Softmax,
	"Sort":              func(x ten, d int) ten { return first(x.Sort(d, true)) },
	"Split":             func(x ten, d int) ten { return x.Split([]int{1, 2}, d)[1] },
	"Squeeze":           ten.Squeeze,
	"Std":               func(x ten, d int) ten { return x.Std(d) },
	"StdKeep":           func(x ten, d int) ten { return x.StdKeep(0, d) },
	"Step":              func(x ten, d int) ten { return x.Step(d, 2) },
	"Sum":               func(x ten, d int) ten { return x.Sum(d) },
	"SumAs":             func(x ten, d int) ten { return x.SumAs(tensor.F32, d) },
	"SumKeep":           func(x ten, d int) ten { return x.SumKeep(d) },
	"SumSqr":            func(x ten, d int) ten { return x.SumSqr(d) },
	"TopK":              func(x ten, d int) ten { return first(x.TopK(2, d, false)) },
	"Transpose":         func(x ten, d int) ten { return x.Transpose(d, 1) },
	"Unfold":            func(x ten, d int) ten { return x.Unfold(d, 2, 1) },
	"Var":               func(x ten, d int) ten { return x.Var(d) },
	"VarKeep":           func(x ten, d int) ten { return x.VarKeep(0, d) },
}

// triple is three indices, pairs complex numbers, and changed what was changed in place, or
// the error of that.
func triple(x ten) ten { return tensor.From(x.Device(), []int64{2, 0, 2}) }

func pairs(x ten) ten { return tensor.Stack(-1, x, x.Neg()) }

func changed(x ten, err error) ten {
	if err != nil {
		return tensor.Fail("changed", err)
	}
	return x
}

// TestDimsFromTheEnd has every function that takes a dimension take it from the end, too,
// and refuse one that is not there.
func TestDimsFromTheEnd(t *testing.T) {
	d := open(t)
	x := tensor.Randn(d, tensor.F64, 0, 1, 3, 3, 3)
	for name, f := range along {
		t.Run(name, func(t *testing.T) {
			if name != "Diagonal" && name != "Transpose" { // of which the other one is 1
				alike(t, f(x, 1), f(x, -2), 0, "in the middle")
			}
			alike(t, f(x, 0), f(x, -3), 0, "the first")
			alike(t, f(x, 2), f(x, -1), 0, "the last")
			for _, wrong := range []int{3, -4} {
				require.ErrorIs(t, f(x, wrong).Err(), tensor.ErrDim, "dimension %d", wrong)
			}
		})
	}
	alike(t, x.Unsqueeze(3), x.Unsqueeze(-1), 0, "unsqueeze")
	alike(t, tensor.Stack(0, x, x), tensor.Stack(-4, x, x), 0, "stack")
	require.ErrorIs(t, x.Unsqueeze(4).Err(), tensor.ErrDim)
	require.ErrorIs(t, tensor.Stack(-5, x, x).Err(), tensor.ErrDim)
	alike(t, x.Permute(2, 0, 1), x.Permute(-1, -3, -2), 0, "permute")
	require.Equal(t, 3, x.Size(-3))
	for _, name := range withDim(t) {
		if !slices.Contains([]string{"Size", "Stack", "Unsqueeze"}, name) {
			require.Contains(t, along, name, "it takes a dimension, and is not tested")
		}
	}
}

// withDim is the names of the functions and methods of this package with a dimension, or
// with several, among their parameters.
func withDim(t *testing.T) (out []string) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Name.IsExported() && fn.Name.Name != "BroadcastLeft" && takesDim(fn) {
				out = append(out, fn.Name.Name)
			}
		}
	}
	require.Greater(t, len(out), 60)
	return out
}

func takesDim(fn *ast.FuncDecl) bool {
	for _, p := range fn.Type.Params.List {
		typ := p.Type
		if many, ok := typ.(*ast.Ellipsis); ok {
			typ = many.Elt
		}
		if id, ok := typ.(*ast.Ident); !ok || id.Name != "int" {
			continue
		}
		for _, name := range p.Names {
			if name.Name == "d" || name.Name == "dims" {
				return true
			}
		}
	}
	return false
}
