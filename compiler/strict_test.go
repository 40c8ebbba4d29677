package compiler

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// A fault of the emitter of native code leaves a kernel to the interpreter, unless it
// is to be an error.
func TestFaultsOfTheNativeEmitter(t *testing.T) {
	load := func(string) (*front.Package, error) {
		return &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte(`package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Scale(t dsl.Thread, x []float32) { x[t.Global()] *= 2 }
`)}}}, nil
	}
	p, err := Front(front.Request{Pkg: "k", Func: "Scale"}, load)
	require.NoError(t, err)
	tgt, err := target.Parse("cpu:x86-64-v3")
	require.NoError(t, err)
	back, err := backendOf(target.Native)
	require.NoError(t, err)
	usual := back.emit
	defer func() { back.emit = usual }()
	for _, c := range []struct {
		name string
		emit func() (string, error)
		why  string // "" for what is no fault
	}{
		{"error", func() (string, error) { return "", errors.New("no register") }, "no register"},
		{"panic", func() (string, error) { var a []int; return "", errors.New(string(rune(a[3]))) },
			"internal compiler error in k.Scale: runtime error: index out of range [3] with length 0 (please report it with the kernel's source)"},
		{"prints", func() (string, error) { return "", image.ErrInterp }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			back.emit = func(m *ir.Module, _ target.Target, _ Options) (text string, err error) {
				defer recoverTo(&err, m.Name)
				return c.emit()
			}
			art, err := p.Emit(tgt, Options{})
			require.NoError(t, err)
			assert.Equal(t, FormatIR, art.Format)
			assert.Equal(t, tgt.String(), art.Target)
			assert.Equal(t, c.why, art.Interpreted)
			same, err := p.Emit(target.Interpreter(8), Options{})
			require.NoError(t, err)
			assert.Equal(t, string(same.Code), string(art.Code))
			_, err = p.Emit(tgt, Options{Strict: true})
			_, _, listErr := p.Listing(tgt, Options{})
			if c.why == "" {
				require.NoError(t, err)
				require.NoError(t, listErr)
				return
			}
			require.ErrorContains(t, err, c.why)
			require.ErrorContains(t, listErr, c.why)
			assert.Equal(t, 1, strings.Count(err.Error(), "k.Scale"), err)
		})
	}
	back.emit = usual
	art, err := p.Emit(tgt, Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, FormatX86, art.Format)
}

// What recovers panics is in the backend itself.
func TestPanicOfTheNativeEmitter(t *testing.T) {
	back, err := backendOf(target.Native)
	require.NoError(t, err)
	_, err = back.emit(&ir.Module{Name: "k.Empty"}, target.Target{}, Options{})
	var internal *InternalError
	require.ErrorAs(t, err, &internal)
	assert.Equal(t, "k.Empty", internal.Kernel)
}
