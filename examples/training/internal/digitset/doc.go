// Package digitset has images of handwritten digits, and what the examples that read them share.
//
// The file digits.txt has 1797 images of 8 by 8 pixels: a line says which digit one is, and has a
// character for each pixel from 0 to g, which is 16. They are the test set of "Optical Recognition of
// Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine Learning Repository (1998),
// https://doi.org/10.24432/C50P49, under CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/),
// which scikit-learn ships; gen.py writes the file.
package digitset
