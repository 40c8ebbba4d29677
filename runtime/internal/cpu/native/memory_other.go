//go:build !(linux || darwin || freebsd || netbsd || openbsd || windows)

package native

import "errors"

func mapWritable(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func makeExecutable([]byte) error { return errors.ErrUnsupported }

func unmap([]byte) {}
