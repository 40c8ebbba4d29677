package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A Key names an entry: a SHA-256 over everything that decided its content.
type Key [sha256.Size]byte

// keyDomain keeps the keys of this package apart from any other use of
// SHA-256 over the same parts.
const keyDomain = "kiln cache key 1\n"

// NewKey hashes parts into a key. Each part is preceded by its length, so that
// ("ab", "c") and ("a", "bc") differ; strings and bytes with the same content
// give the same key.
func NewKey[T ~string | ~[]byte](parts ...T) Key {
	var room [512]byte // for keys of kernels, so that they allocate nothing
	text := append(room[:0], keyDomain...)
	for _, p := range parts {
		text = append(binary.LittleEndian.AppendUint64(text, uint64(len(p))), p...)
	}
	return sha256.Sum256(text)
}

// ParseKey reads the form that [Key.String] writes.
func ParseKey(s string) (Key, error) {
	var k Key
	if err := k.UnmarshalText([]byte(s)); err != nil {
		return Key{}, err
	}
	return k, nil
}

// String returns the key as 64 lower-case hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// MarshalText writes the form of [Key.String].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the form of [Key.String]. Upper-case digits are refused:
// a key has one spelling, because it is also a file name.
func (k *Key) UnmarshalText(text []byte) error {
	if !isKeyName(string(text)) {
		return fmt.Errorf("cache key %q: want %d lower-case hexadecimal digits", text, hex.EncodedLen(len(k)))
	}
	_, err := hex.Decode(k[:], text)
	return err
}

// isKeyName reports whether name is spelled as a key.
func isKeyName(name string) bool {
	return len(name) == hex.EncodedLen(sha256.Size) && isLowerHex(name)
}

func isLowerHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
