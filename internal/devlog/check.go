package devlog

import "fmt"

// Check says which rule of Go a failed thread has broken. It is the immediate of
// an ir.OpBounds, where zero is the index of an element.
type Check uint8

// The checks. In the comments x and y are the values of a failure, in this order.
const (
	Index      Check = iota // s[x], len(s) is y
	SliceLen                // a[:x] of an array, len(a) is y
	SliceCap                // s[:x], cap(s) is y
	SliceOrder              // s[x:y]
	Slice3Len               // a[::x] of an array, len(a) is y
	Slice3Cap               // s[::x], cap(s) is y
	Slice3High              // s[:x:y]
	Slice3Low               // s[x:y:]
	Divide                  // x divided by zero, or modulo zero
	Shift                   // a shift by x
	Nil                     // a pointer was used that had not been set
	Assert                  // dsl.Assert; the text is that of the site
	AssertOne               // dsl.Assert; the text of the site is a format for x
	AssertTwo               // dsl.Assert; the text of the site is a format for x and y

	// Unsigned is added to the check of an index of 64 bits without a sign.
	Unsigned Check = 1 << 7
)

// messages are Go's, in the words of its runtime; the second is for an index below zero.
var messages = [...]struct{ text, negative string }{
	Index:      {"index out of range [%d] with length %d", "index out of range [%d]"},
	SliceLen:   {"slice bounds out of range [:%d] with length %d", "slice bounds out of range [:%d]"},
	SliceCap:   {"slice bounds out of range [:%d] with capacity %d", "slice bounds out of range [:%d]"},
	SliceOrder: {"slice bounds out of range [%d:%d]", "slice bounds out of range [%d:]"},
	Slice3Len:  {"slice bounds out of range [::%d] with length %d", "slice bounds out of range [::%d]"},
	Slice3Cap:  {"slice bounds out of range [::%d] with capacity %d", "slice bounds out of range [::%d]"},
	Slice3High: {"slice bounds out of range [:%d:%d]", "slice bounds out of range [:%d:]"},
	Slice3Low:  {"slice bounds out of range [%d:%d:]", "slice bounds out of range [%d::]"},
}

// OutOfRange is the message of a bounds check, which wants 0 <= x < n. The limit of
// a slice expression is included, so its n is one more.
func (c Check) OutOfRange(x, n int64) string {
	unsigned := c&Unsigned != 0
	if c &^= Unsigned; int(c) >= len(messages) {
		c = Index
	}
	if c != Index {
		n--
	}
	switch m := messages[c]; {
	case x < 0 && unsigned:
		return fmt.Sprintf(m.text, uint64(x), n)
	case x < 0:
		return fmt.Sprintf(m.negative, x)
	default:
		return fmt.Sprintf(m.text, x, n)
	}
}

// DividedByZero is the message of a division of an integer by zero.
func DividedByZero(dividend any) string {
	return fmt.Sprintf("integer divide by zero (dividend %d)", dividend)
}

// NegativeShift is the message of a shift by a negative count.
func NegativeShift(count any) string {
	return fmt.Sprintf("negative shift amount (%d)", count)
}

// NilPointer is the message of the use of a pointer that was not set.
const NilPointer = "invalid memory address or nil pointer dereference"

// Asserted is the message of a failed assertion.
func Asserted(text string) string { return "assertion failed: " + text }

// Asserting is the check of an assertion with so many values.
func Asserting(values int) Check { return Assert + Check(values) }

// AssertedOf is the message of a failed assertion, of its text and values.
func (c Check) AssertedOf(text string, x, y any) string {
	values := []any{x, y}
	if n := c - Assert; n > 0 {
		text = fmt.Sprintf(text, values[:n]...)
	}
	return Asserted(text)
}

// Line is how an error tells of a failed thread, on every device. place may be empty.
func Line(place, kernel string, block, thread [3]int, message string) string {
	if place != "" {
		place += ": "
	}
	return fmt.Sprintf("%skernel %s: block (%d,%d,%d), thread (%d,%d,%d): %s", place, kernel,
		block[0], block[1], block[2], thread[0], thread[1], thread[2], message)
}
