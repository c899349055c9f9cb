r"""Formulas of TeX are read as mathematicians read them; other dollar signs and backslashes stay."""

from __future__ import annotations

import pytest

from gateway.text import normalise

ENGLISH = {
    r"Let $x^2 + y_1 = z^{10}$.": "Let x squared plus y one equals z to the power of ten.",
    r"So $\frac{a}{b}$, \frac{1}{2} and $\frac34$": "So a over b, one half and three quarters",
    r"\[ x = \frac{-b \pm \sqrt{b^2-4ac}}{2a} \]": "x equals (minus b plus or minus the square root of"
    " (b squared minus four ac)) over two a",
    r"$\sum_{i=1}^n i$ and $\prod_{i \in S} i$": "the sum from i equals one to n of i and the product over"
    " i in S of i",
    r"$\lim_{x \to \infty} f(x) = 0$": "the limit as x goes to infinity of f(x) equals zero",
    r"$\int_0^1 x\,dx$": "the integral from zero to one of x dx",
    r"$10^{-3}$, $x^{n+1}$, $e^{-x}$": "ten to the power of minus three, x to the power of (n plus one), e to"
    " the power of (minus x)",
    r"$\theta \in [0, 2\pi]$, $2 \times 3$": "theta in [zero, two pi], two times three",
    r"\(a \leq b\), \(m\), $-5 < x < 5$": "a is less than or equal to b, m, minus five is less than x is less"
    " than five",
    r"H$_2$O, the $5^{th}$, $90^\circ$": "H two O, the fifth, ninety degrees",
    "$$\n\\begin{aligned} a &= \\text{mass} \\\\ b &= c\\end{aligned}\n$$": "a equals mass, b equals c",
    r"$\left( \frac{\sqrt[3]{8}}{2} \right)^2$": "( (the cube root of eight) over two ) squared",
}
MORE = {
    r"\( x = 2 \), so $\boxed{42}$": "x equals two, so forty-two",
    r"$\binom{n}{k} = \frac{n!}{k!(n-k)!}$": "C(n, k) equals (n factorial) over"
    " (k factorial (n minus k) factorial)",
    r"$\sin^2 x + \cos^2 x = 1$": "sin squared x plus cos squared x equals one",
    r"$x \mapsto x^2$, $a \equiv b \pmod{n}$": "x to x squared, a is identical to b mod n",
    r"$\{1, 2\}$, $A \setminus B$, $\emptyset$, $\neg p \lor q$": "{one, two}, A minus B, the empty"
    " set, not p or q",
}
BARE = {
    r"The area is \pi r^2, e^{i\pi} + 1 = 0, 2\pi r": "The area is pi r squared, e to the power of (i pi)"
    " plus one equals zero, two pi r",
    r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}, a \leq b": "the sum from i equals one to n of i equals (n(n plus"
    " one)) over two, a is less than or equal to b",
    r"x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}": "x equals (minus b plus or minus the square root of (b squared"
    " minus four ac)) over two a",
}
CHINESE = {
    r"设$x^2+y^2=z^2$，则$\frac{a}{b}$和$\frac{1}{2}$。": "设x的平方加y的平方等于z的平方，"
    "则b分之a和二分之一。",
    r"求$\sum_{i=1}^n i$。": "求从i等于一到n求和，i。",
    r"$\lim_{x \to 0} f(x)$，$2^{n+1}$": "极限，当x趋于零时，f(x)，二的(n加一)次方",
    r"$x=\frac{b - c}{2a}$": "x等于(b减c)除以二a",
}
OTHERS = {
    "It costs $5 or $6,000 now": "It costs five dollars or six thousand dollars now",
    r"find . \( -name 'x_1' -o -name y \)": r"find . \( -name 'x one' -o -name y \)",
    r"grep \(foo\|bar\)": r"grep \(foo\|bar\)",
    r"sed 's/a\(b\)c/x/'": r"sed 's/a\(b\)c/x/'",
    r"in C:\pi\in.txt": r"in C colon backslash pi backslash in dot txt",
    r'..\in\x, re.sub(r"\in\b"), \newline': r'..\in\x, re.sub(r"\in\b"), \newline',
    "echo $A and $B, then": "echo $A and $B, then",
}


@pytest.mark.parametrize(("written", "spoken"), [*ENGLISH.items(), *MORE.items(), *BARE.items()])
def test_a_formula_is_read_in_english(written: str, spoken: str) -> None:
    assert normalise(written, "en").text.strip() == spoken


@pytest.mark.parametrize("written", CHINESE)
def test_a_formula_is_read_in_chinese(written: str) -> None:
    assert normalise(written, "zh").text == CHINESE[written]


@pytest.mark.parametrize("written", OTHERS)
def test_what_is_no_formula_is_read_as_before(written: str) -> None:
    assert normalise(written, "en").text == OTHERS[written]
