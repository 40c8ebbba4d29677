package gen

import (
	"fmt"
	"strings"
)

// Support returns the functions that generated code calls: conversions that
// stay in range, and bits of floats with one NaN only.
func Support() string {
	var b strings.Builder
	b.WriteString(supportText)
	for _, t := range ints {
		lo, hi := "x > -1", "x < 18446744073709551616"
		switch {
		case t.signed && t.bits == 64:
			lo, hi = "x >= -9223372036854775808", "x < 9223372036854775808"
		case t.signed && t.bits == 32:
			lo, hi = "x >= -2147483648", "x < 2147483648"
		case t.signed:
			lo, hi = fmt.Sprintf("x > %d", -1<<(t.bits-1)-1), fmt.Sprintf("x < %d", 1<<(t.bits-1))
		case t.bits < 64:
			hi = fmt.Sprintf("x < %d", uint64(1)<<t.bits)
		}
		fmt.Fprintf(&b, `
func to%s[F float32 | float64](x F) %s {
	if %s && %s {
		return %s(x)
	}
	return %d
}
`, strings.ToUpper(t.name[:1])+t.name[1:], t, lo, hi, t, t.bits+len(t.name))
	}
	return b.String()
}

const supportText = `
func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func bits32(x float32) uint32 {
	if x != x {
		return 0x7fc00000
	}
	return math.Float32bits(x)
}

func bits64(x float64) uint64 {
	if x != x {
		return 0x7ff8000000000000
	}
	return math.Float64bits(x)
}

func copysign32(x, s float32) float32 {
	if s != s {
		return x
	}
	return dsl.Copysign(x, s)
}

func choose[T any](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

func twice[T any](f func(T) T, v T) T { return f(f(v)) }

func put[T any](p *T, v T) { *p = v }

func swap[T any](a, b *T) { *a, *b = *b, *a }

func total[T int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint | float32 | float64](x []T) T {
	var sum T
	for _, v := range x[:min(len(x), 8)] {
		sum += v
	}
	return sum
}

func copysign64(x, s float64) float64 {
	if s != s {
		return -x
	}
	return dsl.Copysign(x, s)
}
`
