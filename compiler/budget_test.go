package compiler_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// grown writes programs that grow with n, many of them by doubling.
var grown = map[string]func(b *strings.Builder, n int){
	"calls": func(b *strings.Builder, n int) {
		b.WriteString("func f0(x float32) float32 { return x*1.5 + 1 }\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(b, "func f%d(x float32) float32 { return f%d(x) + f%d(x+1) }\n", i, i-1, i-1)
		}
		fmt.Fprintf(b, "//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { x[0] = f%d(x[0]) }\n", n)
	},
	"literals": func(b *strings.Builder, n int) {
		b.WriteString("func twice(f, g func(float32) float32) func(float32) float32 {\n\treturn func(x float32) float32 { return f(g(x)) }\n}\n")
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x []float32) {\n\tf0 := func(x float32) float32 { return x*1.5+1 }\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(b, "\tf%d := twice(f%d, f%d)\n", i, i-1, i-1)
		}
		fmt.Fprintf(b, "\tx[0] = f%d(x[0])\n}\n", n)
	},
	"nested literals": func(b *strings.Builder, n int) {
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x []float32) {\n\tf0 := func(x float32) float32 { return x*1.5+1 }\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(b, "\tf%d := func(x float32) float32 { return f%d(x) + f%d(x+1) }\n", i, i-1, max(i-2, 0))
		}
		fmt.Fprintf(b, "\tx[0] = f%d(x[0])\n}\n", n)
	},
	"copies": func(b *strings.Builder, n int) {
		for i := 0; i < n; i++ {
			fmt.Fprintf(b, "func h%d(f func(float32) float32) float32 {\n\treturn h%d(func(x float32) float32 { return f(x) + 1 }) + h%d(func(x float32) float32 { return f(x) * 2 })\n}\n", i, i+1, i+1)
		}
		fmt.Fprintf(b, "func h%d(f func(float32) float32) float32 { return f(1) }\n", n)
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { x[0] = h0(func(x float32) float32 { return x }) }\n")
	},
	"generic functions": func(b *strings.Builder, n int) {
		b.WriteString("type p[T any] struct{ a T }\n\ntype q[T any] struct{ a T }\n")
		for i := 0; i < n; i++ {
			fmt.Fprintf(b, "func g%d[T any](x T) float32 { return g%d(p[T]{x}) + g%d(q[T]{x}) }\n", i, i+1, i+1)
		}
		fmt.Fprintf(b, "func g%d[T any](x T) float32 { return 1 }\n//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { x[0] = g0(x[0]) }\n", n)
	},
	"generic methods": func(b *strings.Builder, n int) {
		b.WriteString("type p[T any] struct{ a T }\n\ntype q[T any] struct{ a T }\n")
		for i := 0; i < n; i++ {
			fmt.Fprintf(b, "type m%d[T any] struct{ a T }\nfunc (m m%d[T]) sum() float32 { return m%d[p[T]]{}.sum() + m%d[q[T]]{}.sum() }\n", i, i, i+1, i+1)
		}
		fmt.Fprintf(b, "type m%d[T any] struct{ a T }\nfunc (m m%d[T]) sum() float32 { return 1 }\n//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { x[0] = m0[float32]{}.sum() }\n", n, n)
	},
	"type arguments": func(b *strings.Builder, n int) {
		b.WriteString("type pair[A, B any] struct{ a A; b B }\n")
		for i := 0; i < n; i++ {
			fmt.Fprintf(b, "func g%d[T any](x *T) float32 { var y pair[T, T]; return g%d(&y) }\n", i, i+1)
		}
		fmt.Fprintf(b, "func g%d[T any](x *T) float32 { return 1 }\n//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { var v float32; x[0] = g0(&v) }\n", n)
	},
	"generic structs": func(b *strings.Builder, n int) {
		b.WriteString("type two[T any] struct{ a, b T }\n")
		for i := 0; i < n; i++ {
			fmt.Fprintf(b, "func g%d[T any](x *T) float32 { var y two[T]; return g%d(&y) }\n", i, i+1)
		}
		fmt.Fprintf(b, "func g%d[T any](x *T) float32 { return 1 }\n//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { var v float32; x[0] = g0(&v) }\n", n)
	},
	"structs": func(b *strings.Builder, n int) {
		b.WriteString("type s0 struct{ a, b float32 }\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(b, "type s%d struct{ a, b s%d }\n", i, i-1)
		}
		fmt.Fprintf(b, "//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { var v s%d; x[0] = v%s }\n", n, strings.Repeat(".a", n+1))
	},
	"local structs": func(b *strings.Builder, n int) {
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x []float32) {\n\ttype s0 struct{ a, b float32 }\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(b, "\ttype s%d struct{ a, b s%d }\n", i, i-1)
		}
		fmt.Fprintf(b, "\tvar v s%d\n\tx[0] = v%s\n}\n", n, strings.Repeat(".a", n+1))
	},
	"cases": func(b *strings.Builder, n int) {
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x []int32) {\n\tswitch x[0] {\n")
		for i := range n {
			fmt.Fprintf(b, "\tcase %d:\n\t\tx[1] = %d\n", 3*i, i*i%1000)
		}
		b.WriteString("\t}\n}\n")
	},
	"conditions": func(b *strings.Builder, n int) {
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x []int32) {\n\tif x[0] == 0")
		for i := range n {
			fmt.Fprintf(b, " || x[%d] == 1", i)
		}
		b.WriteString(" {\n\t\tx[1] = 1\n\t}\n}\n")
	},
	"live values": func(b *strings.Builder, n int) {
		b.WriteString("//kiln:kernel\nfunc K(t dsl.Thread, x, y []float32) {\n")
		for i := range n {
			fmt.Fprintf(b, "\tv%d := x[%d]\n", i, i)
		}
		for i := range n {
			fmt.Fprintf(b, "\ty[%d] = v%d * v%d\n", i, n-1-i, i)
		}
		b.WriteString("}\n")
	},
}

func grownText(name string, n int) string {
	var b strings.Builder
	b.WriteString("package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n")
	grown[name](&b, n)
	return b.String()
}

// compileGrown compiles a program for targets and returns the bytes that were allocated for that.
func compileGrown(text string, targets ...string) (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	prog, err := compiler.Front(front.Request{Pkg: "k", Func: "K"}, func(string) (*front.Package, error) {
		return &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}, nil
	})
	for _, name := range targets {
		if err != nil {
			break
		}
		var tgt target.Target
		if tgt, err = target.Parse(name); err == nil {
			_, err = prog.Emit(tgt, compiler.Options{})
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// What a few lines make large is refused at a position of the program before it takes much memory.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		want string
	}{
		{"calls", 30, "operations with all that it calls, more than 131072; this call of k.f14 has"},
		{"literals", 24, "function literal holds more than 4096 values"},
		{"nested literals", 24, "function literal holds more than 4096 values"},
		{"copies", 16, "the kernel makes more than 8192 copies of functions"},
		{"generic functions", 16, "the kernel leads to more than 4096 instances of generic functions"},
		{"generic methods", 16, "the kernel leads to more than 4096 instances of generic functions"},
		{"type arguments", 16, "is made of more than 512 types"},
		{"generic structs", 23, "has more than 4096 fields"},
		{"structs", 23, "type s12 has more than 4096 fields"},
		{"local structs", 23, "type s12 has more than 4096 fields"},
		{"cases", 10_000, "function K has 10000 branches, more than 4096"},
		{"conditions", 10_000, "function K has 10001 branches, more than 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bytes, err := compileGrown(grownText(c.name, c.n), "cpu:x86-64-v3")
			var list diag.List
			require.True(t, errors.As(err, &list), "%v", err)
			require.Equal(t, diag.TooLarge, list[0].Code, list[0].Error())
			require.Contains(t, list[0].Msg, c.want)
			require.Equal(t, "k/k.go", list[0].Pos.File)
			require.Positive(t, list[0].Pos.Line)
			require.Less(t, bytes, uint64(200<<20))
		})
	}
}

// Programs below the limits compile, and twice as large a program takes about twice the memory.
func TestBelowBudget(t *testing.T) {
	for name, n := range map[string]int{"calls": 6, "literals": 6, "nested literals": 6, "copies": 4, "generic functions": 4, "generic methods": 4, "type arguments": 4, "generic structs": 6, "structs": 7, "local structs": 7} {
		t.Run(name, func(t *testing.T) {
			_, err := compileGrown(grownText(name, n), "cpu:x86-64-v3", "ptx:sm_90")
			require.NoError(t, err)
		})
	}
	for name, n := range map[string]int{"cases": 200, "conditions": 100, "live values": 250} {
		t.Run(name, func(t *testing.T) {
			_, err := compileGrown(grownText(name, 10), "cpu:x86-64-v3", "ptx:sm_90") // what is made once
			require.NoError(t, err)
			once, err := compileGrown(grownText(name, n), "cpu:x86-64-v3", "ptx:sm_90")
			require.NoError(t, err)
			twice, err := compileGrown(grownText(name, 2*n), "cpu:x86-64-v3", "ptx:sm_90")
			require.NoError(t, err)
			require.Less(t, float64(twice), 2.8*float64(once))
		})
	}
}
