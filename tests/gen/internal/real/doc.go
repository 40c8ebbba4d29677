// Package real has the name of another package.
package real
