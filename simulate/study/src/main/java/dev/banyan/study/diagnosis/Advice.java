package dev.banyan.study.diagnosis;

/**
 * Something that is worth trying.
 *
 * @param change an environment variable with its value, or what to do
 * @param reason why it could help, as part of a sentence
 */
public record Advice(String change, String reason) {
    @Override
    public String toString() {
        return change + ": " + reason;
    }
}
