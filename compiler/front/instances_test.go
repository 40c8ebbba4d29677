package front

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/input"
)

const wantedSource = `package k

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/x448/float16"
)

type Config struct {
	Tile dsl.ConstInt
	_    dsl.ConstInt
	Taps [2]struct{ On dsl.ConstBool }
}

type Pair[A, B any] struct {
	A A
	B B
}

func Add[T dsl.Number](a, b T) T { return a + b }
func Neg(a float32) float32      { return -a }

//kiln:kernel
func Plain(t dsl.Thread, x []byte, h float16.Float16) { x[0] = 1 }

//kiln:instances T=float32,dsl.BF16 n=8,16
//kiln:instances n=16,0x20 T=float32
//kiln:kernel
func Blur[T dsl.Float](t dsl.Thread, x []T, n dsl.ConstInt) { x[0] = x[n] }

//kiln:instances cfg.Tile=4 cfg.Taps[0].On=true cfg.Taps[1].On=false,true
//kiln:kernel
func Fields(t dsl.Thread, x []int32, cfg Config) { x[0] = int32(cfg.Tile) }

//kiln:instances S=[]float32,[]dsl.F16 P=Pair[float32, dsl.F16],Pair[[2]int8,E] // E is that of the line
//kiln:kernel
func Generic[S ~[]E, E dsl.Float, P any](t dsl.Thread, x S, y []E, p []P) { x[0] = y[1] }

//kiln:instances T=float32,int32 f=Add g=Neg,example.com/lib.Half
//kiln:kernel
func Folds[T dsl.Number](t dsl.Thread, x []T, f func(a, b T) T, g func(float32) float32) { x[0] = f(x[0], x[1]) }

//kiln:instances T="example.com/lib".Act[float32]
//kiln:kernel
func Other[T any](t dsl.Thread, x []T) { x[0] = x[1] }

// Nothing is asked for.
//
//kiln:kernel
func Silent[T dsl.Float](t dsl.Thread, x []T) { x[0] = x[1] }
`

const wantedLib = `package lib

type Act[T any] struct{ By T }

func Half(a float32) float32 { return a / 2 }
`

func loadWanted(path string) (*Package, error) {
	if path != "example.com/lib" {
		return nil, fmt.Errorf("no package %s", path)
	}
	return &Package{Path: path, Files: []File{{Name: "lib.go", Text: []byte(wantedLib)}}}, nil
}

func TestInstances(t *testing.T) {
	source := strings.Replace(wantedSource, "S=[]float32,[]dsl.F16 P", "S=[]float32,[]dsl.F16 E=float32 P", 1)
	_, err := Instances(&Package{Path: "example.com/k", Files: []File{{Name: "k.go", Text: []byte(source)}}}, loadWanted)
	require.ErrorContains(t, err, "K0010: kernel Generic has no instance [[]dsl.F16, float32")

	source = strings.Replace(wantedSource, "S=[]float32,[]dsl.F16 P", "E=float32,dsl.F16 S=[]E P", 1)
	p := &Package{Path: "example.com/k", Files: []File{{Name: "k.go", Text: []byte(source)}}}
	reqs, err := Instances(p, loadWanted)
	require.NoError(t, err)
	var got []string
	for _, r := range reqs {
		line := r.Func + " " + r.Sig
		if len(r.Consts) > 0 {
			line += fmt.Sprint(" ", r.Consts)
		}
		if len(r.Funcs) > 0 {
			line += fmt.Sprint(" ", r.Funcs)
		}
		got = append(got, line)
		assert.Equal(t, p.Path, r.Pkg)
		_, err := Build(r, orLoad(p, loadWanted)) // what is asked for can be compiled
		assert.NoError(t, err, line)
	}
	assert.Equal(t, []string{
		"Plain ",
		"Blur func(dsl.Thread, []float32, dsl.ConstInt) map[2:8]",
		"Blur func(dsl.Thread, []float32, dsl.ConstInt) map[2:16]",
		"Blur func(dsl.Thread, []dsl.BF16, dsl.ConstInt) map[2:8]",
		"Blur func(dsl.Thread, []dsl.BF16, dsl.ConstInt) map[2:16]",
		"Blur func(dsl.Thread, []float32, dsl.ConstInt) map[2:32]",
		"Fields  map[2.Taps[0].On:1 2.Taps[1].On:0 2.Tile:4]",
		"Fields  map[2.Taps[0].On:1 2.Taps[1].On:1 2.Tile:4]",
		"Generic func(dsl.Thread, []float32, []float32, []Pair[float32,dsl.F16])",
		"Generic func(dsl.Thread, []float32, []float32, []Pair[[2]int8,float32])",
		"Generic func(dsl.Thread, []dsl.F16, []dsl.F16, []Pair[float32,dsl.F16])",
		"Generic func(dsl.Thread, []dsl.F16, []dsl.F16, []Pair[[2]int8,dsl.F16])",
		"Folds func(dsl.Thread, []float32, func(float32, float32) (float32), func(float32) (float32)) map[2:example.com/k.Add func(float32, float32) (float32) 3:example.com/k.Neg]",
		"Folds func(dsl.Thread, []float32, func(float32, float32) (float32), func(float32) (float32)) map[2:example.com/k.Add func(float32, float32) (float32) 3:example.com/lib.Half]",
		"Folds func(dsl.Thread, []int32, func(int32, int32) (int32), func(float32) (float32)) map[2:example.com/k.Add func(int32, int32) (int32) 3:example.com/k.Neg]",
		"Folds func(dsl.Thread, []int32, func(int32, int32) (int32), func(float32) (float32)) map[2:example.com/k.Add func(int32, int32) (int32) 3:example.com/lib.Half]",
		`Other func(dsl.Thread, []"example.com/lib".Act[float32])`,
	}, got)
}

func TestInstancesSyntax(t *testing.T) {
	_, err := Instances(&Package{Path: "k", Files: []File{{Name: "k.go", Text: []byte("package")}}}, nil)
	require.ErrorContains(t, err, "K0001")
}

// Generated files are no part of kernel source: writing them again changes no key.
func TestGenerated(t *testing.T) {
	p := &Package{Path: "k", Files: []File{{Name: "k.go", Text: []byte("package k\n")}}}
	load := orLoad(p, nil)
	before, err := input.SourceHash("k", load)
	require.NoError(t, err)
	p.Files = append(p.Files, File{Name: "zz_kernels.go", Text: []byte("package k\n\nthis is not Go")}, File{Name: "zz_kernels_x.go", Text: nil}, File{Name: "zz_prebuilt.go", Text: nil})
	after, err := input.SourceHash("k", load)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Empty(t, Check(p, nil, nil))
	p.Files[0].Name = "zz_mine.go"
	other, err := input.SourceHash("k", load)
	require.NoError(t, err)
	assert.NotEqual(t, before, other)
}

func TestSignatures(t *testing.T) {
	text := `//go:build !never

package k

import "github.com/gokiln/kiln/dsl"

type Config struct{ Tile dsl.ConstInt }

// One does a thing.
//
//kiln:kernel
func One[S ~[]T, T dsl.Float](t dsl.Thread, x S, y []T, c [2]Config, n, _ int, f func(T) T) { undefined() }

//kiln:kernel
func Wrong(t dsl.Thread, x []Missing) {}

//kiln:kernel
func Threadless(x []int32) {}
`
	p := &Package{Path: "example.com/k", Files: []File{{Name: "k.go", Text: []byte(text)}}}
	sigs, list := Signatures(p, nil)
	require.Len(t, sigs, 1)
	require.Len(t, list, 2, "%v", list)
	assert.Equal(t, diag.TypeError, list[0].Code)
	assert.Equal(t, diag.FirstParam, list[1].Code)
	s := sigs[0]
	assert.Equal(t, "One does a thing.\n", s.Doc)
	assert.Equal(t, "//go:build !never", s.Constraint)
	assert.Equal(t, "k.go", s.File)
	assert.Equal(t, "example.com/k/k.go:12:6", s.Pos.String())
	var fixed, elems []string
	for v := range s.Type.Params().Variables() {
		fixed = append(fixed, fmt.Sprint(Fixed(v.Type())))
		elems = append(elems, fmt.Sprint(Elem(v.Type())))
	}
	assert.Equal(t, "false false false true false false true", strings.Join(fixed, " "))
	assert.Equal(t, "<nil> T T <nil> <nil> <nil> <nil>", strings.Join(elems, " "))
}
