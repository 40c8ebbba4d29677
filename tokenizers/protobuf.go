package tokenizers

import (
	"encoding/binary"
	"errors"
)

// protoField is a field of a message in the encoding of Protocol Buffers.
type protoField struct {
	number uint64
	value  uint64 // of numbers
	bytes  []byte // of strings and messages
}

var errProto = errors.New("the file is cut off or not in the encoding of Protocol Buffers")

// eachField calls f for each field of a message. It takes no memory: bytes are
// those of b.
func eachField(b []byte, f func(protoField) error) error {
	for len(b) > 0 {
		field, n := nextField(b)
		if n <= 0 {
			return errProto
		}
		if err := f(field); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// nextField reads a field and returns its length, 0 if it is broken.
func nextField(b []byte) (protoField, int) {
	key, n := binary.Uvarint(b)
	if n <= 0 || key>>3 == 0 {
		return protoField{}, 0
	}
	f := protoField{number: key >> 3}
	rest := b[n:]
	switch key & 7 {
	case 0:
		v, k := binary.Uvarint(rest)
		if k <= 0 {
			return f, 0
		}
		f.value = v
		return f, n + k
	case 1:
		if len(rest) < 8 {
			return f, 0
		}
		f.value = binary.LittleEndian.Uint64(rest)
		return f, n + 8
	case 2:
		size, k := binary.Uvarint(rest)
		if k <= 0 || size > uint64(len(rest)-k) {
			return f, 0
		}
		f.bytes = rest[k : k+int(size)]
		return f, n + k + int(size)
	case 5:
		if len(rest) < 4 {
			return f, 0
		}
		f.value = uint64(binary.LittleEndian.Uint32(rest))
		return f, n + 4
	}
	return f, 0
}
