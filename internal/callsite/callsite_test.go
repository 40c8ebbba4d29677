package callsite

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

//go:noinline
func noted(s *Stack) { s.Capture(0) }

//go:noinline
func deep(n int, s *Stack) int {
	if n == 0 {
		noted(s)
		return 0
	}
	return deep(n-1, s) + 1
}

// The line is that of the caller, from a goroutine too, whose stack ends early, and however
// deep it is.
func TestCapture(t *testing.T) {
	var s Stack
	check := func() {
		noted(&s)
		_, _, line, _ := goruntime.Caller(0)
		assert.Equal(t, fmt.Sprintf("callsite_test.go:%d", line-1), s.Site().Pos)
	}
	check()
	done := make(chan struct{})
	go func() { defer close(done); check() }()
	<-done
	deep(3*Depth, &s)
	require.NotZero(t, s[Depth-1])
	assert.Contains(t, s.Site().Pos, "callsite_test.go:")
	assert.Zero(t, testing.AllocsPerRun(100, func() { noted(&s) }))
	assert.Equal(t, Site{}, new(Stack).Site())
	assert.Contains(t, Here().Pos, "callsite_test.go:")
}

func TestOperation(t *testing.T) {
	for function, want := range map[string]string{
		module + "tensor.(*Tensor).IndexSelect": "index_select",
		module + "tensor.Map[...]":              "map",
		module + "tensor.(*Tensor).spread":      "",
		module + "tensor.(*Tensor).Exp.func1":   "",
		module + "ops.Gather":                   "",
		"main.main":                             "",
	} {
		assert.Equal(t, want, operation(function), function)
	}
	for _, c := range []struct {
		function, file string
		library        bool
	}{
		{module + "tensor.(*Tensor).Exp", root + "tensor/elementwise.go", true},
		{"main.main.(*Tensor).IndexAddSet.func1", root + "tensor/inplace.go", true},
		{module + "tensor.TestExp", root + "tensor/exp_test.go", false},
		{module + "tests/conformance.check", root + "tests/conformance/conformance.go", false},
		{module + "examples/edges.main", root + "examples/edges/main.go", false},
		{"runtime.goexit", "asm.s", true},
		{"example.com/m/kernels.LaunchBlur", "zz_kernels.go", true},
		{"main.main", "main.go", false},
	} {
		assert.Equal(t, c.library, inLibrary(c.function, c.file), c.function)
	}
}

func BenchmarkCapture(b *testing.B) {
	var s Stack
	for b.Loop() {
		s.Capture(0)
	}
}
