import Contracts
import ServiceKit

extension InvalidRegistration: ProblemConvertible {
    var problem: Problem {
        Problem(
            .invalidRequest, "Some of the input is not valid.",
            errors: fields.map { Problem.FieldError(field: $0.name, message: $0.message) })
    }
}
