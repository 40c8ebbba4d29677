//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package atomicfile

import (
	"errors"
	"os"
)

func lockFile(*os.File) error { return errors.ErrUnsupported }
