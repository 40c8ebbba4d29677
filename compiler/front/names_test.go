package front_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
)

func TestNames(t *testing.T) {
	const source = `package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32, n int) {
	a, b := x[0]+1, float64(x[1]*2)
	var c = -a
	for i, v := range x {
		n += i
		c = dsl.Exp(v)
	}
	n++
	_, x[2] = b*2, c
	d := *&c
	e := dsl.Shared[[4]float32](t)
	e[n] = (d - a)
}
`
	load := func(path string) (*front.Package, error) {
		return &front.Package{Path: path, DisplayDir: "show", Files: []front.File{{Name: "k.go", Text: []byte(source)}}}, nil
	}
	names, err := front.Names("k", load)
	require.NoError(t, err)
	at := func(line, col int) string { return names(ir.Pos{File: "show/k.go", Line: line, Col: col}) }
	for _, c := range []struct {
		line, col int
		want      string
	}{
		{7, 2, "a"}, {7, 5, "b"}, {7, 14, "a"}, {7, 30, "b"}, {8, 6, "c"}, {8, 10, "c"}, {9, 6, "i"}, {9, 9, "v"}, {10, 5, "n"}, {11, 14, "c"}, {13, 3, "n"},
		{14, 13, ""}, {15, 7, "d"}, {16, 30, ""}, {16, 29, "e"}, {17, 12, ""}, {1, 1, ""},
	} {
		require.Equal(t, c.want, at(c.line, c.col), "%d:%d", c.line, c.col)
	}
	_, err = front.Names("k", func(string) (*front.Package, error) {
		return &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte("package")}}}, nil
	})
	require.Error(t, err)
}
