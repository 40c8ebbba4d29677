package dsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

type celsius float32

func (celsius) String() string { return "not used" }

func TestPrintf(t *testing.T) {
	var b strings.Builder
	err := dsltest.Run(dsl.D1(2), dsl.D1(2), func(th dsl.Thread) {
		dsl.Printf(th, "%d.%d: %v %5.2f %t\n", th.BlockX(), th.ThreadX(), celsius(0.1), dsl.F32(dsl.To[dsl.F16](0.5)), th.ThreadX() == 1)
		if th.Global() == 3 {
			dsl.Printf(th, "done\n")
		}
	}, dsltest.Output(&b))
	require.NoError(t, err)
	assert.Equal(t, "0.0: 0.1  0.50 false\n0.1: 0.1  0.50 true\n1.0: 0.1  0.50 false\n1.1: 0.1  0.50 true\ndone\n", b.String())
}

func TestPrintfOfWhatIsNoNumber(t *testing.T) {
	for _, c := range []struct {
		arg  any
		want string
	}{
		{"text", "takes numbers and bools, not string"},
		{dsl.To[dsl.BF16](1), "dsl.BF16 is storage; print dsl.F32 of it"},
	} {
		err := dsltest.Run(dsl.D1(1), dsl.D1(1), func(th dsl.Thread) { dsl.Printf(th, "%v\n", c.arg) })
		require.ErrorIs(t, err, dsltest.ErrPanic)
		assert.ErrorContains(t, err, c.want)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }

func TestPrintfToABrokenWriter(t *testing.T) {
	err := dsltest.Run(dsl.D1(1), dsl.D1(1), func(th dsl.Thread) { dsl.Printf(th, "x\n") }, dsltest.Output(broken{}))
	assert.ErrorContains(t, err, "disk full")
}

func TestAssert(t *testing.T) {
	ran := 0
	kernel := func(th dsl.Thread) {
		dsl.Assert(th, th.Global() != 5, "five is right out")
		ran++
	}
	require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(4), kernel))
	err := dsltest.Run(dsl.D1(2), dsl.D1(4), kernel)
	require.ErrorIs(t, err, dsltest.ErrAssert)
	assert.ErrorContains(t, err, "assertion failed: block (1,0,0), thread (1,0,0), ")
	assert.ErrorContains(t, err, "log_test.go:57: five is right out")
	assert.Equal(t, 4+5, ran)
}
