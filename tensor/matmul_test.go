package tensor_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestMatMul(t *testing.T) {
	d := open(t)
	x := tensor.New(d, [][]float32{{1, 2}, {3, 4}})
	require.Equal(t, []float32{7, 10, 15, 22}, list[float32](t, x.MatMul(x)))
	b := x.Cast(tensor.BF16)
	require.Equal(t, []float32{7, 10, 15, 22}, list[float32](t, b.MatMul(b).Cast(tensor.F32)))
	y, z := count(d, 2, 2, 3), count(d, 2, 3, 2).AddScalar(2)
	want := []float32{16, 19, 52, 64, 214, 235, 304, 334}
	require.Equal(t, want, list[float32](t, y.MatMul(z)))
	require.Equal(t, want, list[float32](t, y.T().Contiguous().T().MatMul(z.T().Contiguous().T())))
	require.Equal(t, []float32{32}, list[float32](t, tensor.From(d, []float32{1, 2, 3}).Dot(tensor.From(d, []float32{4, 5, 6}))))
	require.Equal(t, []float32{6, 15}, list[float32](t, count(d, 2, 3).AddScalar(1).MV(tensor.Ones(d, tensor.F32, 3))))
	require.Equal(t, make([]float32, 6), list[float32](t, count(d, 2, 0).MatMul(count(d, 0, 3))))
	require.Equal(t, tensor.Shape{4, 0, 3}, count(d, 4, 3, 1).MatMul(count(d, 4, 0, 1).T()).T().Shape())
	require.Equal(t, tensor.Shape{3, 6, 4, 2}, count(d, 3, 1, 4, 5).MatMul(count(d, 6, 5, 2)).Shape())
	require.Empty(t, count(d, 3).MatMul(count(d, 3)).Shape())

	// Shapes come first, then devices, then element types.
	e := count(d, 0, 2).MatMul(count(d, 3, 4)).Err()
	require.ErrorIs(t, e, tensor.ErrShape)
	require.ErrorContains(t, e, "matmul: shape mismatch: [0, 2] and [3, 4]: 2 columns and 3 rows")
	require.ErrorIs(t, count(d, 0, 2).MatMul(count(d, 2, 3).Cast(tensor.F16)).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, count(d, 2, 1, 2).MatMul(count(d, 3, 2, 1)).Err(), tensor.ErrShape)
	require.ErrorIs(t, tensor.Item(d, float32(1)).MatMul(x).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.MV(x).Err(), tensor.ErrRank)
}

func TestGroupedMatMul(t *testing.T) {
	d := open(t)
	x, w := count(d, 5, 2), count(d, 3, 2, 2)
	ends := tensor.From(d, []int32{2, 2, 4})
	require.Equal(t, []float32{2, 3, 6, 11, 82, 91, 118, 131, 0, 0}, list[float32](t, x.GroupedMatMul(w, ends)))
	require.Equal(t, []float32{4, 6, 6, 10, 0, 0, 0, 0, 52, 62, 62, 74}, list[float32](t, x.T().GroupedMatMul(x, ends)))
	require.Equal(t, list[float32](t, x.GroupedMatMul(w, ends).T()), list[float32](t, w.T().GroupedMatMul(x.T(), ends.Cast(tensor.U8))))
	require.Equal(t, make([]float32, 10), list[float32](t, x.GroupedMatMul(count(d, 0, 2, 2), ends.Narrow(0, 0, 0))))
	require.Equal(t, tensor.Shape{3, 2, 0}, x.T().GroupedMatMul(count(d, 5, 0), ends).Shape())

	e := x.GroupedMatMul(count(d, 3, 4, 2), ends).Err()
	require.ErrorIs(t, e, tensor.ErrShape)
	require.ErrorContains(t, e, "grouped_matmul: shape mismatch: [5, 2] and [3, 4, 2]: 2 columns and 4 rows")
	require.ErrorIs(t, x.GroupedMatMul(count(d, 2, 2, 2), ends).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.GroupedMatMul(w.Cast(tensor.F16), ends).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.GroupedMatMul(w, ends.Cast(tensor.F32)).Err(), tensor.ErrDType)
	require.ErrorIs(t, w.GroupedMatMul(w, ends).Err(), tensor.ErrRank)
}

func TestMatMulAs(t *testing.T) {
	d := open(t)
	x, y := count(d, 3, 200).Cast(tensor.I8), count(d, 200, 2).Cast(tensor.I8)
	require.Equal(t, list[int32](t, x.Cast(tensor.I32).MatMul(y.Cast(tensor.I32))), list[int32](t, x.MatMulAs(y, tensor.I32)))
	require.Equal(t, list[int8](t, x.MatMulAs(y, tensor.I32).Cast(tensor.I8)), list[int8](t, x.MatMul(y)))
	half := count(d, 2, 300).Cast(tensor.F16)
	sum := half.MatMulAs(half.T(), tensor.F32) // which float16 does not hold
	require.Equal(t, list[float32](t, half.Cast(tensor.F32).MatMul(half.Cast(tensor.F32).T())), list[float32](t, sum))
	v := tensor.NewVar(half.DivScalar(4))
	grads, err := v.Tensor().MatMulAs(half.T(), tensor.F32).Sum().Backward()
	require.NoError(t, err)
	require.Equal(t, list[float32](t, half.Sum(0).BroadcastTo(2, 300).Cast(tensor.F32)), list[float32](t, grads.Of(v.Tensor()).Cast(tensor.F32)))
	require.Equal(t, tensor.F32, half.Get(0).MatMulAs(half.Get(1), tensor.F32).DType())
	require.ErrorIs(t, x.MatMulAs(y, tensor.I16).Err(), tensor.ErrDType)
	require.ErrorIs(t, x.MatMulAs(y, tensor.F4).Err(), tensor.ErrDType)
	require.ErrorIs(t, half.MatMulAs(half.T(), tensor.F64).Err(), tensor.ErrDType)
}

func TestScaledMatMul(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3).Cast(tensor.F8E4M3)
	w := tensor.From(d, []float32{1, 0, -1, 2, 1, 1}, 3, 2).Cast(tensor.F8E4M3)
	rows, columns := tensor.From(d, []float32{2, 0.5}, 2, 1), tensor.From(d, []float32{1, 10}, 1, 2)
	one := tensor.From(d, []float32{1}, 1, 1)
	require.Equal(t, []float32{2, 7, 5, 16}, list[float32](t, x.ScaledMatMul(w, one, one, tensor.F32)))
	require.Equal(t, []float32{4, 140, 2.5, 80}, list[float32](t, x.ScaledMatMul(w, rows, columns, tensor.F32)))
	require.Equal(t, []float32{4, 140, 2.5, 80}, list[float32](t, x.Cast(tensor.I8).ScaledMatMul(w.Cast(tensor.I8), rows, columns, tensor.BF16).Cast(tensor.F32)))
	require.ErrorContains(t, x.ScaledMatMul(w, rows, rows, tensor.F32).Err(), "scaled product, rhs: shape mismatch: 2 scales along k for 3: want 1 or 1")
	require.ErrorIs(t, x.ScaledMatMul(w.Cast(tensor.F8E5M2), one, one, tensor.F32).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.ScaledMatMul(w, one, one.Cast(tensor.F16), tensor.F32).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.ScaledMatMul(w, one, one, tensor.I32).Err(), tensor.ErrDType)
	require.ErrorIs(t, x.Get(0).ScaledMatMul(w, one, one, tensor.F32).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.ScaledMatMul(w, tensor.NewVar(one).Tensor(), one, tensor.F32).Err(), tensor.ErrNoGradient)
}

// TestMatMulPrecision multiplies numbers of few bits, of which none gets lost, and then others.
func TestMatMulPrecision(t *testing.T) {
	d := open(t)
	require.Equal(t, tensor.Highest, d.MatMulPrecision())
	d.SetMatMulPrecision(tensor.High)
	defer d.SetMatMulPrecision(tensor.Highest)
	require.Equal(t, tensor.High, d.MatMulPrecision())
	x := tensor.New(d, [][]float32{{1, 2}, {3, 4}})
	require.Equal(t, []float32{7, 10, 15, 22}, list[float32](t, x.MatMul(x)))
	a, b := tensor.Randn(d, tensor.F32, 0, 1, 40, 70), tensor.Randn(d, tensor.F32, 0, 1, 70, 50)
	want, size := a.Cast(tensor.F64).MatMul(b.Cast(tensor.F64)), a.Abs().MatMul(b.Abs()).Cast(tensor.F64)
	worst := a.MatMul(b).Cast(tensor.F64).Sub(want).Abs().Div(size).Max()
	require.Less(t, list[float64](t, worst)[0], 1.0/512)

	v := tensor.NewVar(x)
	grads, err := v.Tensor().MatMul(x).Sum().Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{3, 7, 3, 7}, list[float32](t, grads.Of(v.Tensor())))
}

// TestEinsum compares formulas with loops over all letters.
func TestEinsum(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	size := map[rune]int{'a': 2, 'b': 3, 'i': 4, 'j': 5, 'k': 3}
	for _, formula := range []string{
		"i->i", "i->", "ij->ji", "ij->j", "ii->i", "ii->", "iji->ij", "ij,jk->ik", "ij,jk->ki", "aij,ajk->aik", "ij,ij->", "ij,ij->ij", "i,j->ij",
		"ij,jk,k->i", "a,aij,b->bj", "ii,ij->j", "ab,ij->", "abij,jkb->kia",
	} {
		in, out, _ := strings.Cut(formula, "->")
		var terms []string
		var list []*tensor.Tensor
		var data [][]float64
		for term := range strings.SplitSeq(in, ",") {
			var shape []int
			for _, r := range term {
				shape = append(shape, size[r])
			}
			values := make([]float64, tensor.Shape(shape).Count())
			for i := range values {
				values[i] = float64(rng.IntN(7) - 3)
			}
			terms, data, list = append(terms, term), append(data, values), append(list, tensor.From(d, values, shape...))
		}
		got, err := tensor.ToSlice[float64](tensor.Einsum(formula, list...))
		require.NoError(t, err, formula)
		require.Equal(t, sums(terms, out, data, size), got, formula)
	}
	x := count(d, 2, 3, 4)
	require.Equal(t, list[float32](t, x.T()), list[float32](t, tensor.Einsum("...ij->...ji", x)))
	require.Equal(t, list[float32](t, x.MatMul(x.T())), list[float32](t, tensor.Einsum("...ij,...kj->...ik", x, x)))
	require.Equal(t, list[float32](t, x.MatMul(x.Get(0).T())), list[float32](t, tensor.Einsum("...ij,kj", x, x.Get(0))))
	for formula, kind := range map[string]error{"ij": tensor.ErrRank, "ijk,ijk->": tensor.ErrArgument, "iij->": tensor.ErrShape, "ijk->l": tensor.ErrArgument, "ijk->ii": tensor.ErrArgument, "i.k->i": tensor.ErrArgument} {
		require.ErrorIs(t, tensor.Einsum(formula, x).Err(), kind, formula)
	}
}

// The formulas at the edges of the notation.
func TestEinsumEdges(t *testing.T) {
	d := open(t)
	x, v, one := count(d, 2, 3), count(d, 3), tensor.From(d, []float32{5}).Reshape()
	for _, c := range []struct {
		formula string
		list    []*tensor.Tensor
		shape   tensor.Shape
		want    []float32
	}{
		{"->", []*tensor.Tensor{one}, tensor.Shape{}, []float32{5}},
		{",->", []*tensor.Tensor{one, one}, tensor.Shape{}, []float32{25}},
		{",i->i", []*tensor.Tensor{one, v}, tensor.Shape{3}, []float32{0, 5, 10}},
		{"...", []*tensor.Tensor{x}, tensor.Shape{2, 3}, []float32{0, 1, 2, 3, 4, 5}},
		{"...->", []*tensor.Tensor{x}, tensor.Shape{}, []float32{15}},
		{"...,...", []*tensor.Tensor{x, v}, tensor.Shape{2, 3}, []float32{0, 1, 4, 0, 4, 10}},
		{"...j,...j->...", []*tensor.Tensor{x, v}, tensor.Shape{2}, []float32{5, 14}},
		{"i...,i...->i", []*tensor.Tensor{x, x}, tensor.Shape{2}, []float32{5, 50}},
		{" i j , j -> i ", []*tensor.Tensor{x, v}, tensor.Shape{2}, []float32{5, 14}},
		{"ij,j", []*tensor.Tensor{x, v}, tensor.Shape{2}, []float32{5, 14}},
		{"ba", []*tensor.Tensor{x}, tensor.Shape{3, 2}, []float32{0, 3, 1, 4, 2, 5}},
		{"Ij,jI->", []*tensor.Tensor{x, x.T()}, tensor.Shape{}, []float32{55}},
		{"i,i,i,i->i", []*tensor.Tensor{v, v, v, v}, tensor.Shape{3}, []float32{0, 1, 16}},
		{"ij,jk->ik", []*tensor.Tensor{x.Narrow(1, 0, 0), x.T().Narrow(0, 0, 0)}, tensor.Shape{2, 2}, []float32{0, 0, 0, 0}},
		{"ij,jk->ik", []*tensor.Tensor{x.Narrow(0, 0, 0), x.T()}, tensor.Shape{0, 2}, []float32{}},
		{"iij->j", []*tensor.Tensor{count(d, 2, 2, 2)}, tensor.Shape{2}, []float32{6, 8}},
		{"...ab,...bc->...ac", []*tensor.Tensor{count(d, 2, 1, 1, 2), count(d, 3, 2, 1)}, tensor.Shape{2, 3, 1, 1}, []float32{1, 3, 5, 3, 13, 23}},
	} {
		got := tensor.Einsum(c.formula, c.list...)
		require.NoError(t, got.Err(), c.formula)
		require.Equal(t, c.shape.String(), got.Shape().String(), c.formula)
		require.Equal(t, c.want, list[float32](t, got), c.formula)
	}
	for formula, kind := range map[string]error{
		"ij,j->ik": tensor.ErrArgument, "ij,k->ijj": tensor.ErrArgument, "ij,ij": tensor.ErrRank, "ij,i": tensor.ErrShape, "i1,j": tensor.ErrArgument, "ij": tensor.ErrArgument, "": tensor.ErrArgument,
	} {
		require.ErrorIs(t, tensor.Einsum(formula, x, v).Err(), kind, formula)
	}
	require.ErrorIs(t, tensor.Einsum("").Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Einsum("i,i", v, v.Cast(tensor.I32)).Err(), tensor.ErrDTypeMismatch)
}

// sums computes a formula by loops.
func sums(terms []string, out string, data [][]float64, size map[rune]int) []float64 {
	letters := []rune{}
	for _, r := range strings.Join(terms, "") {
		if !strings.ContainsRune(string(letters), r) {
			letters = append(letters, r)
		}
	}
	at := map[rune]int{}
	offset := func(term string) (n int) {
		for _, r := range term {
			n = n*size[r] + at[r]
		}
		return n
	}
	n := 1
	for _, r := range out {
		n *= size[r]
	}
	result := make([]float64, n)
	var loop func(k int)
	loop = func(k int) {
		if k < len(letters) {
			for at[letters[k]] = 0; at[letters[k]] < size[letters[k]]; at[letters[k]]++ {
				loop(k + 1)
			}
			return
		}
		p := 1.0
		for i, term := range terms {
			p *= data[i][offset(term)]
		}
		result[offset(out)] += p
	}
	loop(0)
	return result
}
