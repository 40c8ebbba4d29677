package devlog

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Messages are those of Go's runtime for the same values.
func TestOutOfRange(t *testing.T) {
	s, a := make([]int, 4), new([4]int)
	for _, c := range []struct {
		check Check
		x, y  int
		goes  func(x, y int)
	}{
		{Index, 4, 4, func(x, _ int) { _ = s[x] }},
		{Index, -1, 4, func(x, _ int) { _ = s[x] }},
		{Index | Unsigned, -1, 4, func(x, _ int) { _ = s[uint64(x)] }},
		{SliceLen, 5, 4, func(x, _ int) { _ = a[:x] }},
		{SliceLen, -5, 4, func(x, _ int) { _ = a[:x] }},
		{SliceCap, 5, 4, func(x, _ int) { _ = s[:x] }},
		{SliceCap, math.MinInt64, 4, func(x, _ int) { _ = s[:x] }},
		{SliceCap | Unsigned, math.MinInt64, 4, func(x, _ int) { _ = s[:uint64(x)] }},
		{SliceOrder, 3, 2, func(x, y int) { _ = s[x:y] }},
		{SliceOrder, -3, 2, func(x, y int) { _ = s[x:y] }},
		{Slice3Len, 5, 4, func(x, _ int) { _ = a[:0:x] }},
		{Slice3Len, -5, 4, func(x, _ int) { _ = a[:0:x] }},
		{Slice3Cap, 5, 4, func(x, _ int) { _ = s[:0:x] }},
		{Slice3Cap, -5, 4, func(x, _ int) { _ = s[:0:x] }},
		{Slice3High, 3, 2, func(x, y int) { _ = s[:x:y] }},
		{Slice3High, -3, 2, func(x, y int) { _ = s[:x:y] }},
		{Slice3Low, 3, 2, func(x, y int) { _ = s[x:y:4] }},
		{Slice3Low, -3, 2, func(x, y int) { _ = s[x:y:4] }},
	} {
		n := int64(c.y)
		if c.check&^Unsigned != Index {
			n++
		}
		func() {
			defer func() { assert.EqualError(t, recover().(error), "runtime error: "+c.check.OutOfRange(int64(c.x), n)) }()
			c.goes(c.x, c.y)
		}()
	}
	assert.Equal(t, "index out of range [7] with length 3", Check(100).OutOfRange(7, 3), "a damaged one")
}

func TestFailure(t *testing.T) {
	message := func(c Check, values ...any) string {
		r := Record{Log: &Log{Kernel: "K"}, Site: &Site{Check: c, Text: "all is well", Fails: true}, Values: values}
		return (&Failure{Record: r, More: uint64(len(values))}).Error()
	}
	const line = "kernel K: block (0,0,0), thread (0,0,0): "
	assert.Equal(t, line+"index out of range [3] with length 2 (and 2 more)", message(Index, int64(3), int64(2)))
	assert.Equal(t, line+"integer divide by zero (dividend -7) (and 2 more)", message(Divide, int8(-7), uint64(0)))
	assert.Equal(t, line+"negative shift amount (-1) (and 2 more)", message(Shift, int32(-1), uint64(0)))
	assert.Equal(t, line+"invalid memory address or nil pointer dereference", message(Nil))
	assert.Equal(t, line+"assertion failed: all is well", message(Assert))
	for c := range Check(200) {
		assert.NotPanics(t, func() { message(c) }, fmt.Sprint(c)) // records without values
	}
}
