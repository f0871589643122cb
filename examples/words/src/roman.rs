//! Numbers as the Romans wrote them.

/// From the largest down, so that what is left never needs one that went before.
const HUNDREDS: &[(u16, &str)] = &[(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C")];
const TENS: &[(u16, &str)] = &[(90, "XC"), (50, "L"), (40, "XL"), (10, "X")];
const ONES: &[(u16, &str)] = &[(9, "IX"), (5, "V"), (1, "I")];

pub fn roman(mut number: u16) -> String {
    let mut text = String::new();
    for &(value, letters) in HUNDREDS.iter().chain(TENS).chain(ONES) {
        while number >= value {
            text.push_str(letters);
            number -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::roman;

    #[test]
    fn letters_add_up() {
        assert_eq!(roman(3), "III");
        assert_eq!(roman(1666), "MDCLXVI");
    }

    #[test]
    fn no_letter_stands_four_times_in_a_row() {
        assert_eq!(roman(4), "IV");
        assert_eq!(roman(1994), "MCMXCIV");
    }
}
