package bundle

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ErrUntrusted is in the chain of errors about bundles that nobody trusted has signed.
var ErrUntrusted = errors.New("bundle is not signed by a trusted key")

// signed precedes a digest in what is signed, so that the signature is good for
// nothing else.
const signed = "kiln bundle signature 1\n"

// Signature is by whom, and what.
type Signature struct {
	Key       []byte `json:"key"`
	Signature []byte `json:"signature"`
}

func sign(key ed25519.PrivateKey, d Digest) Signature {
	return Signature{Key: key.Public().(ed25519.PublicKey), Signature: ed25519.Sign(key, append([]byte(signed), d[:]...))}
}

// by reports whether the signature is of a digest, by a key.
func (s *Signature) by(key ed25519.PublicKey, d Digest) bool {
	return slices.Equal(s.Key, []byte(key)) && ed25519.Verify(key, append([]byte(signed), d[:]...), s.Signature)
}

// Trust is the keys whose signatures count. Without keys every bundle is trusted.
type Trust []ed25519.PublicKey

// ParseTrust reads KILN_TRUST: public keys in base64, separated by commas, or names of files
// that have one a line.
func ParseTrust(text string) (Trust, error) {
	var t Trust
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		if key, err := ParsePublic(word); err == nil {
			t = append(t, key)
			continue
		}
		data, err := os.ReadFile(word)
		if err != nil {
			return nil, fmt.Errorf("KILN_TRUST: %s is neither a public key in base64 nor a file of them: %w", word, err)
		}
		n := len(t)
		for l := range strings.Lines(string(data)) {
			l, _, _ = strings.Cut(l, "#")
			if l = strings.TrimSpace(l); l == "" {
				continue
			}
			key, err := ParsePublic(l)
			if err != nil {
				return nil, fmt.Errorf("KILN_TRUST: %s: %w", word, err)
			}
			t = append(t, key)
		}
		if len(t) == n {
			return nil, fmt.Errorf("KILN_TRUST: %s has no key", word)
		}
	}
	if len(t) == 0 && text != "" {
		return nil, fmt.Errorf("KILN_TRUST=%q names no key", text)
	}
	return t, nil
}

// Check reports whether a trusted key has signed the bundle.
func (t Trust) Check(b *Bundle) error {
	if len(t) == 0 {
		return nil
	}
	for _, key := range t {
		if slices.ContainsFunc(b.seal.Signatures, func(s Signature) bool { return s.by(key, b.digest) }) {
			return nil
		}
	}
	if len(b.seal.Signatures) == 0 {
		return fmt.Errorf("%w: %s has no signature; sign it (kiln bundle sign) or unset KILN_TRUST", ErrUntrusted, b.name)
	}
	return fmt.Errorf("%w: %s is signed by %s, which KILN_TRUST does not have or whose signature is of another bundle", ErrUntrusted, b.name, b.Signers())
}

// Signers are the keys that the bundle says it is signed by, in base64; [Trust.Check] verifies.
func (b *Bundle) Signers() string {
	var out []string
	for _, s := range b.seal.Signatures {
		out = append(out, base64.StdEncoding.EncodeToString(s.Key))
	}
	return strings.Join(out, ", ")
}

// NewKey makes a key to sign with, and the texts of its secret and its public part.
func NewKey() (secret, public string, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", "", err
	}
	return base64.StdEncoding.EncodeToString(key.Seed()), base64.StdEncoding.EncodeToString(pub), nil
}

// ParseSecret reads the secret of NewKey.
func ParseSecret(text string) (ed25519.PrivateKey, error) {
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("not a secret key: want %d bytes in base64", ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// ParsePublic reads the public key of NewKey.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is not a public key: want %d bytes in base64", text, ed25519.PublicKeySize)
	}
	return key, nil
}
